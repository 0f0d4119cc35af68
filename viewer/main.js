// Where does the page start?
//
// Its data stands in the page itself, as JSON; a page without episodes has no player.

import { Picker } from "./picker.js";
import { Player } from "./player.js";

const root = document.getElementById("player");
const source = document.getElementById("cpss-data");
const data = JSON.parse(source?.textContent ?? "{}");
if (root && data.choices?.length) {
  new Picker(new Player(root), data);
  root.dataset.ready = "true";
} else if (root) {
  root.hidden = true;
}
