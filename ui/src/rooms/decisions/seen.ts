// What an evaluation says about a table, from the history or from a try: both have the same members.
import { type Seen, given } from "./TableView";

interface Evaluated {
  evaluatedInputs: readonly { inputId: string; inputValue: string }[];
  matchedRules: readonly { ruleIndex: number; evaluatedOutputs: readonly { outputId: string; outputValue: string }[] }[];
}

export const seenOf = ({ evaluatedInputs, matchedRules }: Evaluated, failure: string | null): Seen => ({
  inputs: new Map(evaluatedInputs.map((each) => [each.inputId, each.inputValue])),
  matched: new Set(matchedRules.map((each) => each.ruleIndex)),
  outputs: new Map(matchedRules.flatMap((each) => each.evaluatedOutputs.map((output) => [given(each.ruleIndex, output.outputId), output.outputValue]))),
  failure,
});
