// What becomes of a page when another tab of the same browser has ended the session that all of them share.
import { heard } from "../../api/session";
import { hearTabs } from "../../api/tabs";
import { goAway } from "../router";

export function followTabs() {
  hearTabs((word) => void heard(word).then((isOut) => (isOut ? goAway() : undefined)));
}
