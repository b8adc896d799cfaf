// Decisions that ask one another: what an insurance pays, by the cover that a customer has. Its last table may find two rules at once.
const cell = (kind, text) => `<${kind}><text>${text}</text></${kind}>`;
const rule = (id, inputs, outputs, note = "") =>
  `<rule id="${id}">${note === "" ? "" : `<description>${note}</description>`}${inputs.map((text) => cell("inputEntry", text)).join("")}${outputs.map((text) => cell("outputEntry", text)).join("")}</rule>`;

export const coverModel = `<?xml version="1.0" encoding="UTF-8"?>
<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" id="cover-file" name="Cover" namespace="http://skep.example/cover">
  <inputData id="customer-data" name="Customer"/>
  <inputData id="damage-data" name="Damage"/>
  <decision id="cover" name="Cover of the customer">
    <informationRequirement id="r1"><requiredInput href="#customer-data"/></informationRequirement>
    <decisionTable id="covers" hitPolicy="UNIQUE">
      <input id="years" label="Years a customer"><inputExpression id="years-e" typeRef="number"><text>customer.years</text></inputExpression></input>
      <output id="cover-o" label="Cover" name="cover" typeRef="string"/>
      ${rule("new", ["&lt; 2"], ['"basic"'])}${rule("old", ["&gt;= 2"], ['"full"'], "Customers of two years and more")}
    </decisionTable>
  </decision>
  <decision id="payment" name="What is paid">
    <informationRequirement id="r2"><requiredDecision href="#cover"/></informationRequirement>
    <informationRequirement id="r3"><requiredInput href="#damage-data"/></informationRequirement>
    <decisionTable id="payments" hitPolicy="UNIQUE">
      <input id="which" label="Cover"><inputExpression id="which-e" typeRef="string"><text>cover</text></inputExpression></input>
      <input id="amount" label="Amount of the damage"><inputExpression id="amount-e" typeRef="number"><text>amount</text></inputExpression></input>
      <output id="paid" label="Paid" name="paid" typeRef="number"/>
      <output id="by" label="Approved by" name="approvedBy" typeRef="string"/>
      ${rule("basic-all", ['"basic"'], ["0", '"nobody"']).replace(cell("inputEntry", '"basic"'), cell("inputEntry", '"basic"') + cell("inputEntry", "-"))}
      ${rule("full-little", ['"full"', "&lt;= 1000"], ["amount", '"the system"'])}
      ${rule("full-much", ['"full"', "&gt;= 1000"], ["amount * 0.8", '"a manager"'], "1000 is in two rules")}
    </decisionTable>
  </decision>
</definitions>`;
