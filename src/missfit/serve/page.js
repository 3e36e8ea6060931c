// Asks the server about the row whenever a field has changed, and shows what it says.
(() => {
  const form = document.getElementById("row");
  const answer = document.getElementById("answer");
  const place = (id) => document.getElementById(id);
  let asked = 0;
  let timer;

  const row = () => {
    const found = {};
    for (const field of form.elements)
      if (field.name && field.value.trim() !== "") found[field.name] = field.value;
    return found;
  };

  const clear = () => {
    for (const id of ["prediction", "interval", "next", "fault"])
      place(id).textContent = "";
    for (const id of ["fields", "warnings"]) place(id).replaceChildren();
    for (const field of form.elements) field.classList.remove("ask");
  };

  const item = (list, text) => {
    const line = document.createElement("li");
    line.textContent = text;
    place(list).append(line);
  };

  const sure = (said) => {
    const share = answer.dataset.coverage;
    if ("rmse" in said) {
      const low = said.lower === null ? "minus infinity" : said.lower;
      const high = said.upper === null ? "infinity" : said.upper;
      return `${share} interval: ${low} to ${high}.`;
    }
    const each = Object.entries(said.probabilities).map(([k, p]) => `${k} ${p}`);
    const set = said.set.length ? said.set.join(", ") : "none";
    return `Probabilities: ${each.join(", ")}. ${share} set: ${set}.`;
  };

  const show = (said) => {
    clear();
    for (const warning of said.warnings) item("warnings", warning);
    place("prediction").textContent = `${answer.dataset.target}: ${said.prediction}`;
    const name = "rmse" in said ? "rmse" : "log_loss";
    place("interval").textContent =
      `${sure(said)} The typical error of such rows is ${said[name]}.`;
    if (!said.ask.length) {
      place("next").textContent = "No missing field is known to be worth asking for.";
      return;
    }
    place("next").textContent = "Worth asking for next, and the typical error then:";
    for (const one of said.ask.slice(0, 5))
      item("fields", `${one.column}: ${one[name]}`);
    form.elements.namedItem(said.ask[0].column)?.classList.add("ask");
  };

  const ask = async () => {
    const mine = ++asked;
    try {
      const response = await fetch("ask", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(row()),
      });
      const said = await response.json();
      if (mine !== asked) return; // a later question is under way
      if (response.ok) return show(said);
      clear();
      place("fault").textContent = said.error;
    } catch {
      if (mine !== asked) return;
      clear();
      place("fault").textContent = "The server does not answer.";
    }
  };

  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, 250);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
  ask();
})();
