// What a model says about variables is found by namespaces, not by prefixes, and of what belongs together the last word counts.
import { describe, expect, it } from "vitest";
import { type Part, mappedAt, mappedIn } from "./mapped";

const ENTITIES: Record<string, string> = { lt: "<", gt: ">", quot: '"', amp: "&" };
const plain = (text: string) => text.replaceAll(/&(\w+);/g, (whole, name: string) => ENTITIES[name] ?? whole);

interface Open extends Part {
  children: Part[];
  spaces: ReadonlyMap<string, string>;
}

const open = (localName: string, namespaceURI: string | null, spaces: ReadonlyMap<string, string>, attributes: ReadonlyMap<string, string>): Open => ({
  localName, namespaceURI, spaces, children: [], getAttribute: (name) => attributes.get(name) ?? null,
});

/** XML without anything that models of these tests lack, as a browser reads it (the journey of this tab has the browser). */
function read(xml: string): Part {
  const file = open("", null, new Map(), new Map());
  const stack = [file];
  for (const [, close, name = "", rest = "", empty] of xml.matchAll(/<(\/?)([\w:]+)((?:\s+[\w:]+="[^"]*")*)\s*(\/?)>/g)) {
    if (close === "/") {
      stack.pop();
      continue;
    }
    const around = stack.at(-1) ?? file;
    const attributes = new Map([...rest.matchAll(/([\w:]+)="([^"]*)"/g)].map(([, key = "", value = ""]) => [key, plain(value)]));
    const named = [...attributes].flatMap(([key, value]) => (/^xmlns(:|$)/.test(key) ? [[key.slice(6), value] as const] : []));
    const spaces = new Map([...around.spaces, ...named]);
    const [prefix, local] = name.includes(":") ? name.split(":") : ["", name];
    const element = open(local ?? "", spaces.get(prefix ?? "") ?? null, spaces, attributes);
    around.children.push(element);
    if (empty !== "/") stack.push(element);
  }
  const [root] = file.children;
  if (!root) throw new Error("the model of a test has no root");
  return root;
}

const BPMN = "http://www.omg.org/spec/BPMN/20100524/MODEL";
const ZEEBE = "http://camunda.org/schema/zeebe/1.0";
const of = (content: string) =>
  mappedIn(read(`<bpmn:definitions xmlns:bpmn="${BPMN}" xmlns:zeebe="${ZEEBE}"><bpmn:process id="p">${content}</bpmn:process></bpmn:definitions>`), "p");
const task = (id: string, extensions: string, more = "", type = "serviceTask") =>
  `<bpmn:${type} id="${id}"><bpmn:extensionElements>${extensions}</bpmn:extensionElements>${more}</bpmn:${type}>`;
const io = (content: string) => `<zeebe:ioMapping>${content}</zeebe:ioMapping>`;
const input = (source: string, target: string) => `<zeebe:input source="${source}" target="${target}"/>`;
const output = (source: string, target: string) => `<zeebe:output source="${source}" target="${target}"/>`;
const mapping = (source: string, target: string, isReplaced = false) => ({ source, target, isReplaced });
const event = (type: string, more = "") => of(task("e", io(input("=1", "a")), more, type))[0]?.takesInputs;
const call = (attributes: string) => of(task("c", `<zeebe:calledElement processId="=id" ${attributes}/>`, "", "callActivity"))[0]?.call;
const marker = (attributes: string, sequential = "") =>
  `<bpmn:multiInstanceLoopCharacteristics${sequential}><bpmn:extensionElements><zeebe:loopCharacteristics ${attributes}/></bpmn:extensionElements></bpmn:multiInstanceLoopCharacteristics>`;

describe("mappings", () => {
  it("are those of each element, in the order of the model", () => {
    const [charge, inner, ...more] = of(
      task("charge", io(input("=order.id", "orderId") + input("EUR", "money.currency") + '<zeebe:input target="none"/>' + output("=receipt", "receipt"))) +
        `<bpmn:subProcess id="around">${task("inner", io(output("=1", "one")))}</bpmn:subProcess>`,
    );
    expect(charge).toEqual({
      id: "charge", name: "charge", type: "serviceTask", loop: undefined, takesInputs: true, call: undefined, result: undefined, collected: undefined,
      inputs: [mapping("=order.id", "orderId"), mapping("EUR", "money.currency"), mapping("", "none")],
      outputs: [mapping("=receipt", "receipt")],
    });
    expect(inner?.id).toBe("inner");
    expect(more).toEqual([]);
  });

  it("are found whatever the prefixes are, and only in their namespaces", () => {
    const found = mappedIn(read(`<definitions xmlns="${BPMN}" xmlns:z="${ZEEBE}" xmlns:zeebe="http://example.org/other"><process id="p">
      <serviceTask id="a" name=" Two&lt;br&gt;  words "><extensionElements><z:ioMapping><z:input source="=1" target="x"/><zeebe:input source="=2" target="y"/></z:ioMapping></extensionElements></serviceTask>
      <serviceTask id="b"><extensionElements><zeebe:ioMapping><zeebe:input source="=1" target="x"/></zeebe:ioMapping></extensionElements></serviceTask>
    </process></definitions>`), "p");
    expect(found.map(({ id, name, inputs }) => [id, name, inputs])).toEqual([["a", "Two<br> words", [mapping("=1", "x")]]]);
  });

  it("of a template are mappings", () => {
    const model = `<bpmn:serviceTask id="mail" zeebe:modelerTemplate="io.mail" zeebe:modelerTemplateVersion="3"><bpmn:extensionElements>${io(input("ann", "to"))}</bpmn:extensionElements></bpmn:serviceTask>`;
    expect(of(model)[0]?.inputs).toEqual([mapping("ann", "to")]);
  });

  it("are replaced by later ones to the same variable, or to what it is part of", () => {
    const twice = io(input("=1", "a") + input("=2", "a") + input("=3", "b.c") + input("=4", "b") + input("=5", "d") + input("=6", "d.e") + input("=7", "d.f") + input("=8", "ab"));
    const replaced = of(task("t", twice))[0]?.inputs.filter((each) => each.isReplaced).map(({ source }) => source);
    expect(replaced).toEqual(["=1", "=3", "=5"]);
  });

  it("are not where nothing is said: no extensions, none of these, another process, a gateway", () => {
    expect(of('<bpmn:serviceTask id="a"/>' + task("b", '<zeebe:taskDefinition type="x"/>') + task("g", io(input("=1", "a")), "", "exclusiveGateway"))).toEqual([]);
    expect(mappedIn(read(`<d xmlns="${BPMN}"><process id="q"/></d>`), "p")).toEqual([]);
  });

  it("go into no event that only happens", () => {
    expect([event("startEvent"), event("boundaryEvent"), event("endEvent"), event("intermediateThrowEvent", "<bpmn:linkEventDefinition/>")]).toEqual([false, false, false, false]);
    expect([event("endEvent", "<bpmn:messageEventDefinition/>"), event("intermediateThrowEvent", "<bpmn:signalEventDefinition/>"), event("intermediateCatchEvent")]).toEqual([true, true, true]);
  });

  it("keep names of people who do not mean well as they are", () => {
    const [found] = of('<bpmn:serviceTask id="__proto__" name="&lt;img src=x&gt;"><bpmn:extensionElements>' + io(input("=&quot;&lt;/script&gt;&quot;", "constructor") + output("=1", "__proto__.x")) + "</bpmn:extensionElements></bpmn:serviceTask>");
    expect(found).toMatchObject({ id: "__proto__", name: "<img src=x>", inputs: [mapping('="</script>"', "constructor")], outputs: [mapping("=1", "__proto__.x")] });
  });
});

describe("more than mappings", () => {
  it("is what a loop takes and collects", () => {
    const [whole, bare] = of(
      task("a", "", marker('inputCollection="=members" inputElement="member" outputCollection="votes" outputElement="=vote"', ' isSequential="true"')) + task("b", "", marker('inputCollection="=[1,2]"')),
    );
    expect(whole?.loop).toEqual({ isSequential: true, input: mapping("=members", "member"), output: mapping("=vote", "votes") });
    expect(bare?.loop).toEqual({ isSequential: false, input: mapping("=[1,2]", ""), output: undefined });
  });

  it("is what a call passes, all unless it says otherwise", () => {
    expect(call("")).toEqual({ process: "=id", passesAll: true, returnsAll: true });
    expect(call('propagateAllParentVariables="false" propagateAllChildVariables=" false "')).toEqual({ process: "=id", passesAll: false, returnsAll: false });
  });

  it("is where results go", () => {
    const [script, decision, adHoc, left] = of(
      task("s", '<zeebe:script expression="=a + b" resultVariable="sum"/>', "", "scriptTask") +
        task("d", '<zeebe:calledDecision decisionId="risk" resultVariable="level"/>', "", "businessRuleTask") +
        task("h", '<zeebe:adHoc outputCollection="all" outputElement="=one"/>', "", "adHocSubProcess") +
        task("left", '<zeebe:script expression="=a" resultVariable="b"/>'),
    );
    expect([script?.result, decision?.result, adHoc?.collected, left]).toEqual([mapping("=a + b", "sum"), mapping("risk", "level"), mapping("=one", "all"), undefined]);
  });
});

it("a large model is read at once, and each of its elements found", () => {
  const all = of(Array.from({ length: 500 }, (_, at) => task(`t${at}`, io(input(`=a${at}`, `b${at}`)))).join(""));
  expect(all).toHaveLength(500);
  expect(mappedAt(all, "t499")?.inputs).toEqual([mapping("=a499", "b499")]);
  expect(mappedAt(all, "t7#innerInstance")?.id).toBe("t7");
  expect(mappedAt(all, "t500")).toBeUndefined();
});
