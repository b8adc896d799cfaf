// An object names the revision that it replaces, in a browser and at the server.
import { beforeEach, describe, expect, it, vi } from "vitest";
import { browser, isConflict, server } from "./kept";
import { Problem } from "./problem";

const content = { title: "Late", shared: false, body: { search: { state: "incident" } } };

class Storage {
  [name: string]: unknown;
  getItem(name: string) {
    return (this[name] as string | undefined) ?? null;
  }
  setItem(name: string, value: string) {
    this[name] = value;
  }
  removeItem(name: string) {
    delete this[name];
  }
}

beforeEach(() => {
  vi.stubGlobal("localStorage", new Storage());
});

const refusal = async (of: Promise<unknown>): Promise<number> => of.then(() => 0, (error: unknown) => (error instanceof Problem ? error.status : -1));

describe("a browser", () => {
  it("keeps what was kept, by kind", async () => {
    const revision = await browser.put("views", "tasks-1", content, null);
    expect(await browser.get("views", "tasks-1")).toMatchObject({ name: "tasks-1", title: "Late", revision, body: content.body });
    expect((await browser.list("views")).map((each) => each.name)).toEqual(["tasks-1"]);
    expect(await browser.list("models")).toEqual([]);
  });

  it("replaces the revision that is named, and no other", async () => {
    const first = await browser.put("views", "a", content, null);
    expect(await refusal(browser.put("views", "a", content, null))).toBe(412);
    const second = await browser.put("views", "a", content, first);
    expect(await refusal(browser.put("views", "a", content, first))).toBe(412);
    expect(await refusal(browser.drop("views", "a", first))).toBe(412);
    await browser.drop("views", "a", second);
    expect(await refusal(browser.put("views", "a", content, second))).toBe(404);
    expect(await refusal(browser.get("views", "a"))).toBe(404);
  });

  it("leaves out what others wrote there", async () => {
    localStorage.setItem("skep-kept-views-x", "what?");
    localStorage.setItem("skep-kept-views-y", "null");
    expect(await browser.list("views")).toEqual([]);
  });
});

describe("the server", () => {
  it("is told the revision, or that there is none yet", async () => {
    const asked: [string, RequestInit][] = [];
    vi.stubGlobal("fetch", async (path: string, how: RequestInit) => {
      asked.push([path, how]);
      return asked.length === 3
        ? new Response(JSON.stringify({ title: "PRECONDITION_FAILED", detail: "so" }), { status: 412 })
        : new Response(JSON.stringify({ revision: "77" }));
    });
    expect(await server.put("views", "a b", content, null)).toBe("77");
    await server.put("views", "a b", content, "77");
    expect(isConflict(await server.drop("views", "a b", "76").catch((error: unknown) => error))).toBe(true);
    expect(asked.map(([path, { method }]) => `${method} ${path}`)).toEqual(["PUT /skep/v1/kept/views/a%20b", "PUT /skep/v1/kept/views/a%20b", "DELETE /skep/v1/kept/views/a%20b"]);
    const headers = asked.map(([, how]) => how.headers as Record<string, string>);
    expect(headers.map((each) => each["if-none-match"])).toEqual(["*", undefined, undefined]);
    expect(headers.map((each) => each["if-match"])).toEqual([undefined, '"77"', '"76"']);
    expect(JSON.parse(String(asked[0]?.[1].body))).toEqual(content);
  });
});
