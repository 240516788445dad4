// The form of an experiment: more rows for parameters, and a picture of the network.
import { Drawing } from "./network.js";

const sets = document.getElementById("sets");
const more = document.getElementById("more");
more.hidden = false;
more.addEventListener("click", () => {
  const row = sets.lastElementChild.cloneNode(true);
  for (const i of row.querySelectorAll("input")) i.value = "";
  sets.append(row);
  row.querySelector("input").focus();
});
document.getElementById("wrong")?.focus();

const count = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;
const canvas = document.getElementById("preview");
const text = document.getElementById("preview-text");
const answer = await fetch(canvas.dataset.network);
if (answer.ok) {
  const net = await answer.json();
  const hosts = net.nodes.filter((n) => !n.switch).length;
  const rates = [...new Set(net.links.map((l) => l.text))];
  text.textContent = `${count(hosts, "host")}, ${count(net.nodes.length - hosts, "switch", "switches")}, ${count(net.links.length, "link")} (${rates.slice(0, 3).join("; ")}${rates.length > 3 ? "; …" : ""})`;
  new Drawing(canvas, net).draw();
} else {
  text.textContent = "It cannot be drawn.";
}
