// One page of a loss: panes of stages whose lines light up together, its schedule, its passes.
"use strict";
(async () => {
  const byId = (name) => document.getElementById(name);
  const make = (tag, attributes = {}, text = "") => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text) element.textContent = text;
    return element;
  };

  async function unpacked() {
    const bytes = Uint8Array.from(atob(byId("data").textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  // ---- which lines belong together

  // Lines are keys: pane * WIDTH + index.
  const WIDTH = 1 << 24;
  const keyOf = (pane, index) => pane * WIDTH + index;
  const paneOf = (key) => Math.floor(key / WIDTH);
  const indexOf = (key) => key % WIDTH;

  function linked(program) {
    const children = new Map();
    program.panes.forEach((pane, number) => pane.origins.forEach((places, index) => {
      for (const [from, line] of places) {
        const parent = keyOf(from, line);
        if (!children.has(parent)) children.set(parent, []);
        children.get(parent).push(keyOf(number, index));
      }
    }));
    const parents = (key) =>
      (program.panes[paneOf(key)].origins[indexOf(key)] || []).map(([from, line]) => keyOf(from, line));
    return { parents, children: (key) => children.get(key) || [] };
  }

  function reached(start, next) {
    const found = new Set(), waiting = [start];
    while (waiting.length) {
      for (const key of next(waiting.pop()))
        if (!found.has(key)) { found.add(key); waiting.push(key); }
    }
    return found;
  }

  // ---- state

  const data = await unpacked();
  const ROW = 18;
  let program = data.programs[0], links = linked(program);
  let panes = [];          // what is shown: {number, rows, scroll, ...}
  let shown = new Set();   // numbers of panes
  let at = null, pinned = false;
  let made = new Set(), from = new Set();

  function light(key) {
    at = key;
    made = key === null ? new Set() : reached(key, links.children);
    from = key === null ? new Set() : reached(key, links.parents);
    for (const pane of panes) { recolour(pane); drawMap(pane); }
    tellCounts();
  }

  function tellCounts() {
    if (at === null) { byId("told").textContent = ""; return; }
    const counts = new Map();
    for (const key of [...from, ...made]) counts.set(paneOf(key), (counts.get(paneOf(key)) || 0) + 1);
    const pane = program.panes[paneOf(at)], skeleton = pane.skeletons[indexOf(at)];
    const parts = [...counts].sort((a, b) => a[0] - b[0])
      .map(([number, count]) => `${program.panes[number].name} ${count}`);
    byId("told").textContent = `${pane.name} line ${numberOf(pane, indexOf(at))}`
      + (skeleton ? `, of ${skeleton}` : "") + (parts.length ? `: ${parts.join(", ")}` : ": no other lines");
  }

  const numberOf = (pane, index) => pane.numbers ? pane.numbers[index] : index + 1;

  // ---- panes

  function rowsOf(pane, kernel) {
    const rows = [], spans = pane.symbols;
    const owner = new Array(pane.lines.length).fill("");
    spans.forEach(([name, first], number) => {
      const end = number + 1 < spans.length ? spans[number + 1][1] : pane.lines.length;
      owner.fill(name, first, end);
    });
    for (let index = 0; index < pane.lines.length; ++index) {
      if (pane.hidden && owner[index] === pane.hidden) continue;
      if (kernel && spans.some(([name]) => name === kernel) && owner[index] !== kernel) continue;
      rows.push(index);
    }
    return rows;
  }

  function build() {
    const holder = byId("panes"), kernel = byId("kernel").value;
    holder.replaceChildren();
    panes = [];
    program.panes.forEach((pane, number) => {
      if (!shown.has(number)) return;
      const rows = rowsOf(pane, kernel);
      const box = make("div", { class: "pane", "data-stage": pane.name });
      const title = make("h2", {}, pane.name + " ");
      title.append(make("small", {}, `${rows.length} lines`));
      const scroll = make("div", { class: "scroll", tabindex: "0", role: "listbox", "aria-label": pane.name });
      const spacer = make("div"), map = make("canvas", { class: "map", "aria-hidden": "true" });
      const longest = rows.reduce((most, index) =>
        Math.max(most, pane.lines[index].reduce((sum, piece, n) => n % 2 ? sum + piece.length : sum, 0)), 0);
      spacer.style.cssText = `height:${rows.length * ROW}px;width:${longest + 8}ch;font:12px ui-monospace,monospace`;
      scroll.append(spacer);
      const body = make("div", { class: "body" });
      body.append(scroll, map);
      box.append(title, body);
      holder.append(box);
      const view = { number, pane, rows, scroll, map, lines: new Map(), places: new Map(rows.map((index, row) => [index, row])) };
      panes.push(view);
      attach(view);
      paint(view);
      drawMap(view);
    });
  }

  function paint(view) {
    const { scroll, rows, pane, number } = view;
    const first = Math.max(0, Math.floor(scroll.scrollTop / ROW) - 5);
    const end = Math.min(rows.length, first + Math.ceil((scroll.clientHeight || 800) / ROW) + 10);
    const lines = document.createDocumentFragment();
    for (const [row, old] of view.lines)
      if (row < first || row >= end) { old.remove(); view.lines.delete(row); }
    for (let row = first; row < end; ++row) {
      if (view.lines.has(row)) continue;
      const line = make("div", { class: classOf(keyOf(number, rows[row])), "data-index": rows[row], role: "option" });
      line.style.top = `${row * ROW}px`;
      line.append(make("span", { class: "number" }, String(numberOf(pane, rows[row]))));
      const pieces = pane.lines[rows[row]];
      for (let n = 0; n < pieces.length; n += 2) line.append(pieceOf(pieces[n], pieces[n + 1]));
      lines.append(line);
      view.lines.set(row, line);
    }
    scroll.append(lines);
  }

  const classOf = (key) => "line" + (key === at ? " here" : made.has(key) ? " made" : from.has(key) ? " from" : "");

  function recolour(view) {
    for (const line of view.lines.values())
      line.className = classOf(keyOf(view.number, Number(line.dataset.index)));
  }

  function pieceOf(kind, text) {
    const known = Object.hasOwn(data.words, text) ? " known" : "";
    return make("span", { class: (kind + known).trim() }, text);
  }

  function drawMap(view) {
    const { map, rows, number } = view, height = map.clientHeight || 400;
    map.width = 9; map.height = height;
    const draw = map.getContext("2d"), style = getComputedStyle(document.documentElement);
    const mark = (key, name) => {
      const row = view.places.get(indexOf(key));
      if (paneOf(key) !== number || row === undefined) return;
      draw.fillStyle = style.getPropertyValue(name);
      draw.fillRect(0, row / rows.length * height, 9, Math.max(2, height / rows.length));
    };
    for (const key of made) mark(key, "--mark");
    for (const key of from) mark(key, "--blue");
    if (at !== null) mark(at, "--mark");
  }

  /// Scrolls a pane to a row. The rows are painted at once: the scroll event comes one frame later.
  function bring(view, row) {
    const top = row * ROW, { scroll } = view;
    if (top >= scroll.scrollTop && top + ROW <= scroll.scrollTop + scroll.clientHeight) return;
    scroll.scrollTop = Math.max(0, top - scroll.clientHeight / 3);
    paint(view);
  }

  /// Scrolls all other panes to the first line that belongs to the current one.
  function bringAll() {
    for (const view of panes) {
      if (at !== null && view.number === paneOf(at)) continue;
      const rows = [...from, ...made].filter((key) => paneOf(key) === view.number)
        .map((key) => view.places.get(indexOf(key))).filter((row) => row !== undefined);
      if (rows.length) bring(view, Math.min(...rows));
    }
  }

  function attach(view) {
    const { scroll, map, rows, number } = view;
    const lineAt = (event) => {
      const line = event.target.closest(".line");
      return line ? keyOf(number, Number(line.dataset.index)) : null;
    };
    scroll.addEventListener("scroll", () => paint(view));
    scroll.addEventListener("mouseover", (event) => {
      const key = lineAt(event);
      if (key !== null && !pinned && key !== at) light(key);
      tell(event);
    });
    scroll.addEventListener("mouseleave", () => { byId("tip").hidden = true; if (!pinned) light(null); });
    scroll.addEventListener("click", (event) => {
      const key = lineAt(event);
      if (key === null) return;
      pinned = !(pinned && key === at);
      light(key);
      if (pinned) bringAll();
    });
    scroll.addEventListener("keydown", (event) => keyed(event, view));
    map.addEventListener("click", (event) => {
      scroll.scrollTop = event.offsetY / map.clientHeight * rows.length * ROW - scroll.clientHeight / 2;
    });
  }

  function keyed(event, view) {
    const { rows, number } = view;
    const own = at !== null && paneOf(at) === number ? view.places.get(indexOf(at)) ?? -1 : -1;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 };
    if (event.key in steps) {
      const row = Math.min(rows.length - 1, Math.max(0, own + steps[event.key]));
      pinned = true;
      light(keyOf(number, rows[row]));
      bring(view, row);
    } else if (event.key === "Enter") {
      pinned = at !== null;
      bringAll();
    } else if (event.key === "Escape") {
      pinned = false;
      light(null);
    } else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      const other = panes[panes.indexOf(view) + (event.key === "ArrowRight" ? 1 : -1)];
      if (!other) return;
      const related = [...from, ...made].filter((key) => paneOf(key) === other.number)
        .map((key) => other.places.get(indexOf(key))).filter((row) => row !== undefined);
      other.scroll.focus();
      if (related.length) {
        const row = Math.min(...related);
        pinned = true;
        light(keyOf(other.number, other.rows[row]));
        bring(other, row);
      }
    } else return;
    event.preventDefault();
  }

  function tell(event) {
    const word = event.target.classList?.contains("known") ? event.target.textContent : "";
    const tip = byId("tip");
    tip.hidden = !word;
    if (!word) return;
    tip.textContent = data.words[word];
    const box = event.target.getBoundingClientRect();
    tip.style.left = `${Math.min(box.left, innerWidth - 440)}px`;
    tip.style.top = box.bottom + 90 < innerHeight ? `${box.bottom + 4}px` : `${box.top - 70}px`;
  }

  // ---- schedule, passes, differences

  function table(program, other) {
    const body = make("table"), head = make("tr");
    for (const name of program.table.columns) head.append(make("th", {}, name));
    body.append(head);
    const beside = new Map((other ? other.table.rows : []).map((row) => [row[0], row]));
    for (const row of program.table.rows) {
      const line = make("tr", { class: "kernel", title: "show the kernel's code" });
      row.forEach((cell, n) => {
        const differs = other && (beside.get(row[0]) || [])[n] !== cell;
        line.append(make("td", differs ? { class: "differs" } : {}, cell));
      });
      line.addEventListener("click", () => {
        choose(data.programs.indexOf(program));
        byId("kernel").value = row[0];
        build();
        open("code");
      });
      body.append(line);
    }
    const wide = make("div", { class: "wide" });
    wide.append(body);
    return wide;
  }

  function fillSchedule() {
    const holder = make("div", { class: "beside" });
    data.programs.forEach((each, number) => {
      const box = make("div"), other = data.programs[1 - number];
      box.append(make("h2", {}, each.label));
      const picture = make("div");
      picture.innerHTML = each.picture;
      box.append(picture, make("h2", {}, "kernels"), table(each, other));
      const lines = new Set(other ? other.summary.split("\n") : []), summary = make("pre");
      for (const line of each.summary.split("\n"))
        summary.append(make("span", other && !lines.has(line) ? { class: "differs" } : {}, line), "\n");
      box.append(make("h2", {}, "in words"), summary);
      holder.append(box);
    });
    byId("schedule").replaceChildren(holder);
  }

  function colouredDiff(text) {
    const pre = make("pre");
    for (const line of text.split("\n")) {
      const kind = line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "";
      pre.append(make("span", kind ? { class: kind } : {}, line), "\n");
    }
    return pre;
  }

  function folded(title, diff) {
    const details = make("details");
    details.append(make("summary", {}, title));
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) details.append(colouredDiff(diff || "no difference"));
    });
    return details;
  }

  function fillPasses() {
    byId("passes").replaceChildren();
    for (const { stage, passes } of program.passes) {
      if (!passes.length) continue;
      byId("passes").append(make("h2", {}, `stage ${stage}`));
      passes.forEach((pass, n) => byId("passes").append(folded(`${n + 1}. ${pass.name}`, pass.diff)));
    }
  }

  function fillDifferences() {
    const titles = data.programs.map((each) => each.label).join("  and  ");
    byId("differences").replaceChildren(make("h2", {}, titles));
    for (const { name, diff } of data.differences)
      byId("differences").append(folded(diff ? name : `${name}: the same`, diff));
  }

  // ---- controls

  const tabs = data.programs.length > 1 ? ["code", "schedule", "passes", "differences"] : ["code", "schedule", "passes"];
  function open(name) {
    for (const tab of tabs) {
      byId(tab).hidden = tab !== name;
      byId(`tab-${tab}`).setAttribute("aria-selected", String(tab === name));
    }
    if (name === "code") build();
  }

  function choose(number) {
    program = data.programs[number];
    links = linked(program);
    byId("program").value = String(number);
    at = null; pinned = false; made = new Set(); from = new Set();
    byId("kernel").replaceChildren(make("option", { value: "" }, "all"),
      ...program.kernels.map((name) => make("option", { value: name }, name)));
    const narrow = innerWidth < 800;
    shown = new Set(program.panes.map((_, n) => n).filter((n) => narrow ? n === 0 : n < 4 || n === program.panes.length - 1));
    fillStages();
    fillPasses();
    build();
    const loss = panes.find((view) => view.number === 0);
    const used = loss ? loss.rows.findIndex((index) => index > 0 && links.children(keyOf(0, index)).length) : -1;
    if (used >= 0) bring(loss, used);
  }

  function fillStages() {
    byId("stages").replaceChildren(...program.panes.map((pane, number) => {
      const button = make("button", { type: "button", "aria-pressed": String(shown.has(number)) }, pane.name);
      button.addEventListener("click", () => {
        if (innerWidth < 800) shown = new Set([number]);
        else if (!shown.delete(number)) shown.add(number);
        fillStages();
        build();
      });
      return button;
    }));
  }

  function find(text) {
    const view = panes.find((each) => at !== null && each.number === paneOf(at)) || panes[0];
    const begin = at === null ? 0 : (view.places.get(indexOf(at)) ?? -1) + 1;
    for (const each of [view, ...panes.filter((other) => other !== view)]) {
      const { rows, pane } = each, offset = each === view ? begin : 0;
      for (let n = 0; n < rows.length; ++n) {
        const row = (n + offset) % rows.length;
        const line = pane.lines[rows[row]].filter((_, piece) => piece % 2).join("");
        if (!line.includes(text)) continue;
        pinned = true;
        light(keyOf(each.number, rows[row]));
        bring(each, row);
        bringAll();
        return;
      }
    }
    byId("told").textContent = `no line of the stages shown has '${text}'`;
  }

  for (const tab of tabs) {
    const button = make("button", { type: "button", role: "tab", id: `tab-${tab}`, "aria-controls": tab }, tab);
    button.addEventListener("click", () => open(tab));
    byId("tabs").append(button);
  }
  data.programs.forEach((each, n) => byId("program").append(make("option", { value: String(n) }, each.label)));
  byId("program-choice").hidden = data.programs.length < 2;
  byId("program").addEventListener("change", () => choose(Number(byId("program").value)));
  byId("kernel").addEventListener("change", build);
  byId("find").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && byId("find").value) find(byId("find").value);
  });
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const theme = (name) => { document.documentElement.dataset.theme = name; panes.forEach(drawMap); };
  theme(dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => theme(dark.matches ? "dark" : "light"));
  byId("theme").addEventListener("click", () =>
    theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  addEventListener("resize", () => panes.forEach((view) => { paint(view); drawMap(view); }));
  choose(0);
  fillSchedule();
  fillDifferences();
  open("code");
  document.body.dataset.ready = "yes";
})();
