// How many results are chosen to be compared, also on other pages of the list.
const form = document.getElementById("compare");
if (form) {
  const button = document.getElementById("compare-b");
  const said = document.getElementById("chosen");
  const boxes = [...form.querySelectorAll('input[name="r"]')];
  const kept = new Set(JSON.parse(sessionStorage.getItem("weir-compare") ?? "[]"));
  for (const b of boxes) b.checked = kept.has(b.value);
  const show = () => {
    for (const b of boxes) b.checked ? kept.add(b.value) : kept.delete(b.value);
    for (const x of form.querySelectorAll('input[type="hidden"]')) x.remove();
    for (const name of kept) {
      if (!boxes.some((b) => b.value === name)) {
        const x = document.createElement("input");
        x.type = "hidden";
        x.name = "r";
        x.value = name;
        form.append(x);
      }
    }
    const n = kept.size;
    button.disabled = n < 2 || n > 6;
    said.textContent = n === 0 ? "Select 2 to 6." : n > 6 ? `${n} are selected; up to 6 are allowed.` : `${n} selected.`;
    sessionStorage.setItem("weir-compare", JSON.stringify([...kept]));
  };
  for (const b of boxes) b.addEventListener("change", show);
  form.addEventListener("submit", () => sessionStorage.removeItem("weir-compare"));
  show();
}
