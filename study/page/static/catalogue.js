// Finds entries of a list while one types.
const find = document.getElementById("find");
const said = document.getElementById("found");
const rooms = [...document.querySelectorAll(".room")];

function show() {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  let n = 0;
  for (const room of rooms) {
    let here = 0;
    for (const li of room.querySelectorAll("ul > li")) {
      const text = li.textContent.toLowerCase();
      li.hidden = !words.every((w) => text.includes(w));
      if (!li.hidden) here++;
    }
    room.hidden = here === 0;
    n += here;
  }
  said.textContent = words.length ? `${n} found` : "";
}
find.addEventListener("input", show);
if (find.value) show();
