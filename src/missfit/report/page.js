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
  // A table shows the rows that hold all the words typed; without words, its first
  // rows until a button shows all.
  const refresh = (table) => {
    const box = table.closest(".tablebox");
    const field = box && box.querySelector("input.filter");
    const more = box && box.querySelector("button.more");
    const words = field ? field.value.toLowerCase().split(/\s+/).filter(Boolean) : [];
    const most = more && !more.hidden && !words.length ? Number(more.dataset.first) : Infinity;
    [...table.tBodies[0].rows].forEach((row, i) => {
      const cells = [...row.cells].map((cell) => cell.textContent.toLowerCase());
      const text = cells.join(" ");
      row.hidden = i >= most || !words.every((word) => text.includes(word));
    });
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
      refresh(table);
    }));
    const box = table.closest(".tablebox");
    for (const field of box.querySelectorAll("input.filter")) {
      field.addEventListener("input", () => refresh(table));
    }
    for (const more of box.querySelectorAll("button.more")) {
      more.addEventListener("click", () => { more.hidden = true; refresh(table); });
    }
    refresh(table);
  }
  // the contents mark the section that is read
  const links = new Map([...document.querySelectorAll("nav a")].map(
    (link) => [decodeURIComponent(link.hash.slice(1)), link]));
  const mark = () => {
    let now = null;
    for (const id of links.keys()) {
      const part = document.getElementById(id);
      if (part && part.getBoundingClientRect().top < window.innerHeight / 3) now = id;
    }
    for (const [id, link] of links) {
      if (id === now) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  if (links.size) {
    document.addEventListener("scroll", mark, { passive: true });
    mark();
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
