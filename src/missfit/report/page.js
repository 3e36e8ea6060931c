"use strict";
(() => {
  const value = (row, i) => {
    const cell = row.cells[i];
    return cell.dataset.value === undefined ? cell.textContent : cell.dataset.value;
  };
  const compare = (a, b, sign) => {
    if (a === "" || b === "") return (a === "") - (b === "");  // nothing sorts last
    const x = Number(a), y = Number(b);
    const gap = Number.isNaN(x) || Number.isNaN(y)
      ? a.localeCompare(b, undefined, { numeric: true }) : x - y;
    return sign * gap;
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, i) => head.querySelector("button").addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => compare(value(a, i), value(b, i), up ? 1 : -1));
      table.tBodies[0].append(...rows);
    }));
  }
  for (const field of document.querySelectorAll("input.filter")) {
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of field.parentElement.querySelectorAll("tbody tr")) {
        const cells = [...row.cells].map((cell) => cell.textContent.toLowerCase());
        const text = cells.join(" ");
        row.hidden = !words.every((word) => text.includes(word));
      }
    });
  }
  const artists = (name) => [...document.querySelectorAll("[data-series]")].filter(
    (el) => (el.dataset.series + ":").startsWith("series:" + name + ":"));
  for (const button of document.querySelectorAll("button[data-switch]")) {
    const name = button.dataset.switch;
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(on));
      artists(name).forEach((el) => el.classList.toggle("off", !on));
    });
    const dim = (others) => document.querySelectorAll("[data-series]").forEach((el) =>
      el.classList.toggle("dim", others &&
        !(el.dataset.series + ":").startsWith("series:" + name + ":")));
    button.addEventListener("pointerenter", (event) =>
      dim(event.pointerType === "mouse" && button.getAttribute("aria-pressed") === "true"));
    button.addEventListener("pointerleave", () => dim(false));
  }
})();
