// Everything of an event is put into the page as text, never as markup.
"use strict";

const token = location.hash.slice(1) || sessionStorage.getItem("token") || "";
sessionStorage.setItem("token", token); // a reload keeps it, and the address shows it no longer
history.replaceState(null, "", location.pathname);

const INBOX = ["", "waiting", "running", "done", "dead"];
const at = (id) => document.getElementById(id);
let overview = { deliveries: false, inbox: null, minutes: [] };
let list = null; // "deliveries", or a state of the inbox
let rows = [];
let chosen = null; // the key of the row that is shown

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

async function ask(path, given) {
  const options = { headers: { Authorization: `Bearer ${token}` } };
  if (given !== undefined) Object.assign(options, { method: "POST", body: JSON.stringify(given) });
  const answer = await fetch(path, options);
  const found = await answer.json();
  if (!answer.ok) throw new Error([found.error, found.hint].filter(Boolean).join(". "));
  return found;
}

function say(text, isBad = false) {
  at("state").textContent = text;
  at("state").className = isBad ? "bad" : "";
}

const moment = (time) => new Date(typeof time === "number" ? time * 1000 : time);
const clock = (time) => {  // an event may lie here for weeks
  const isToday = moment(time).toDateString() === new Date().toDateString();
  return isToday ? moment(time).toLocaleTimeString() : moment(time).toLocaleString();
};
const keyOf = (row) => String(list === "deliveries" ? row.number : row.key);
const mark = (status) => (status < 300 ? "good" : status < 500 ? "open" : "bad");
const STATES = { waiting: "open", running: "busy", done: "good", dead: "bad", succeeded: "good", refused: "open", failed: "bad" };

const COLUMNS = {
  deliveries: [
    ["TIME", (row) => clock(row.time)],
    ["STATUS", (row) => `${row.status} ${row.outcome}`, (row) => mark(row.status)],
    ["TYPE", (row) => row.type],
    ["ID", (row) => row.id ?? "", () => "wide"],
    ["REASON", (row) => row.reason, () => "wide"],
    ["SOURCE", (row) => row.source, () => "wide"],
    ["FROM", (row) => row.client, () => "wide"],
  ],
  inbox: [
    ["RECEIVED", (row) => clock(row.received)],
    ["STATE", (row) => row.state, (row) => STATES[row.state]],
    ["TYPE", (row) => row.type],
    ["ID", (row) => String(row.id ?? ""), () => "wide"],
    ["ATTEMPTS", (row) => String(row.attempts), () => "wide"],
    ["ERROR", (row) => row.error ?? "", () => "wide"],
  ],
};

function drawTabs() {
  const names = [...(overview.deliveries ? ["deliveries"] : []), ...(overview.inbox ? INBOX : [])];
  const counts = overview.inbox?.counts ?? {};
  at("tabs").replaceChildren(...names.map((name) => {
    const label = name === "" ? "inbox" : name in counts ? `${name} ${counts[name]}` : name;
    return element("button", { "aria-pressed": name === list, onclick: () => open(name) }, label);
  }));
}

function drawPlot() {
  const minutes = overview.deliveries ? overview.minutes : overview.inbox?.minutes ?? [];
  const kinds = Object.keys(minutes[0] ?? {}).filter((name) => name !== "start");
  const most = Math.max(1, ...minutes.map((minute) => kinds.reduce((sum, kind) => sum + minute[kind], 0)));
  const space = "http://www.w3.org/2000/svg";
  const picture = document.createElementNS(space, "svg");
  picture.setAttribute("viewBox", `0 0 ${minutes.length * 10} 60`);
  picture.setAttribute("preserveAspectRatio", "none");
  picture.setAttribute("aria-hidden", "true");
  minutes.forEach((minute, place) => {
    let top = 60;
    for (const kind of kinds) {
      const height = (minute[kind] / most) * 58;
      const bar = document.createElementNS(space, "rect");
      top -= height;
      for (const [name, value] of Object.entries({ x: place * 10 + 1, y: top, width: 8, height, class: STATES[kind], fill: "currentColor" })) bar.setAttribute(name, value);
      if (height) picture.append(bar);
    }
  });
  const totals = kinds.map((kind) => [kind, minutes.reduce((sum, minute) => sum + minute[kind], 0)]);
  const text = element("p", {}, "the last hour, by minute:", ...totals.flatMap(([kind, count]) => {
    const key = element("span", { class: `key ${STATES[kind]}` });
    key.style.background = "currentColor";
    return [key, `${count} ${kind}`];
  }));
  at("plot").replaceChildren(picture, text);
}

function drawTools() {
  const made = [];
  const few = rows.map((row) => row.key);
  if (list === "dead" && few.length) made.push(element("button", { onclick: () => replay(few) }, `Run ${few.length} again`));
  if (list === "dead" || list === "done") made.push(element("button", { onclick: purge }, `Delete ${list} events ...`));
  at("tools").replaceChildren(...made);
}

function drawRows() {
  const columns = COLUMNS[list === "deliveries" ? "deliveries" : "inbox"];
  const classes = (column, row) => (column[2] ? column[2](row) : null);
  const isWide = (column) => (column[2] && column[2]({ status: 0 }) === "wide" ? "wide" : null);
  at("head").replaceChildren(element("tr", {}, ...columns.map((column) => element("th", { scope: "col", class: isWide(column) }, column[0]))));
  const focused = document.activeElement?.dataset?.key;
  at("rows").replaceChildren(...rows.map((row) => {
    const key = keyOf(row);
    const cells = columns.map((column) => element("td", { class: classes(column, row), title: column[1](row) }, column[1](row)));
    const made = element("tr", { tabindex: "0", "aria-selected": key === chosen, onclick: () => show(row) }, ...cells);
    made.dataset.key = key;
    return made;
  }));
  if (focused !== undefined) [...at("rows").children].find((each) => each.dataset.key === focused)?.focus();
  at("empty").hidden = rows.length > 0;
  at("empty").textContent = list === "deliveries" ? "Nothing has arrived yet." : "No events here.";
}

function section(title, ...children) {
  return children.length ? [element("h3", {}, title), ...children] : [];
}

function items(name, found) {
  return found.length ? [element(name, {}, ...found)] : [];
}

function deliveryDetail(found) {
  const steps = found.steps.map((step) => element("li", { class: step.ok === null ? null : step.ok ? "good" : "bad" }, step.text));
  const routes = found.routes.map((each) => element("li", { class: each.took ? "good" : null }, each.took ? `${each.route}: took it` : `${each.route}: ${each.why}`));
  const runs = found.runs.map((run) => element("li", { class: run.failure ? "bad" : "good" },
    `${run.job}: ${run.failure ?? "succeeded"} (${run.duration_ms} ms)`, run.output.length ? element("pre", {}, run.output.join("\n")) : null));
  return [
    element("h2", { class: mark(found.status) }, `${found.status} ${found.outcome}${found.reason ? `: ${found.reason}` : ""}`),
    element("p", {}, `${clock(found.time)} from ${found.client}, ${found.size} bytes`, found.type ? `, ${found.type} ${found.id ?? ""}` : ""),
    ...section("Check, step by step", ...items("ol", steps)),
    ...section("Routes", ...items("ul", routes)),
    ...section("Handlers", ...items("ul", runs)),
    ...section("Headers", element("pre", {}, found.headers.map(([name, value]) => `${name}: ${value}`).join("\n"))),
    ...section("Body", element("pre", {}, readable(found.body))),
  ];
}

function readable(text) {
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
}

function eventDetail(found) {
  const facts = ["source", "key", "attempts"].map((name) => [name, found[name]]);
  for (const name of ["received", "due", "finished"]) if (found[name] != null) facts.push([name, moment(found[name]).toLocaleString()]);
  const open = found.targets.map((each) => `${each.target}: ${each.state}, attempts: ${each.attempts}${each.state === "waiting" ? `, due ${clock(each.due)}` : ""}${each.error ? `: ${each.error}` : ""}`);
  return [
    element("h2", { class: STATES[found.state] }, `${found.type} ${found.id ?? ""}: ${found.state}`),
    element("p", {}, element("button", { onclick: () => replay([found.key]) }, "Run again")),
    ...(found.error && !open.length ? section("Why it failed", element("pre", {}, found.error)) : []),
    ...section("Handlers that did not succeed", ...items("ul", open.map((text) => element("li", { class: "bad" }, text)))),
    ...section("Facts", ...items("ul", facts.map(([name, text]) => element("li", {}, `${name}: ${text}`)))),
    ...section("Handlers that succeeded", ...items("ul", found.succeeded.map((job) => element("li", { class: "good" }, job)))),
    ...section("Headers that were kept", element("pre", {}, found.headers.join("\n"))),
    ...section("Payload", element("pre", {}, JSON.stringify(found.payload, null, 2))),
  ];
}

async function show(row, focus = true) {
  chosen = keyOf(row);
  const isDelivery = list === "deliveries";
  const path = isDelivery ? `/api/delivery?number=${chosen}` : `/api/event?key=${encodeURIComponent(chosen)}&id=${encodeURIComponent(row.id ?? "")}`;
  try {
    const found = await ask(path);
    const close = element("button", { onclick: hide, "aria-label": "Close" }, "Close");
    at("detail").replaceChildren(close, ...(isDelivery ? deliveryDetail(found) : eventDetail(found)));
    at("detail").hidden = false;
    document.querySelector("main").classList.add("beside");
    for (const each of at("rows").children) each.setAttribute("aria-selected", each.dataset.key === chosen);
    if (focus) at("detail").focus({ preventScroll: true });
  } catch (error) { say(error.message, true); }
}

function hide() {
  const before = [...at("rows").children].find((each) => each.dataset.key === chosen);
  chosen = null;
  at("detail").hidden = true;
  document.querySelector("main").classList.remove("beside");
  drawRows();
  [...at("rows").children].find((each) => each.dataset.key === before?.dataset.key)?.focus();
}

function confirmed(question, answer) {
  at("asked").textContent = question;
  at("yes").textContent = answer;
  at("question").returnValue = "no";
  at("question").showModal();
  return new Promise((resolve) => at("question").addEventListener("close", () => resolve(at("question").returnValue === "yes"), { once: true }));
}

async function replay(keys) {
  const what = keys.length === 1 ? "this event" : `${keys.length} events`;
  if (!(await confirmed(`Run all handlers of ${what} again?`, "Run again"))) return;
  try { say(`${(await ask("/api/replay", { keys })).length} run again`); } catch (error) { say(error.message, true); }
}

async function purge() {
  if (!(await confirmed(`Delete ${list} events that are older than 7 days? They cannot be brought back.`, "Delete"))) return;
  try { say(`${await ask("/api/purge", { state: list, older: "7d" })} deleted`); } catch (error) { say(error.message, true); }
}

async function open(name) {
  if (name !== list) { list = name; chosen = null; at("detail").hidden = true; document.querySelector("main").classList.remove("beside"); }
  await refresh();
}

async function refresh() {
  overview = await ask("/api/overview");
  document.title = at("title").textContent = `${overview.title}: ${overview.deliveries ? "deliveries" : "inbox"}`;
  list ??= overview.deliveries ? "deliveries" : "";
  rows = await ask(list === "deliveries" ? "/api/deliveries" : `/api/events?state=${list}`);
  drawTabs(); drawPlot(); drawTools(); drawRows();
  const row = rows.find((each) => keyOf(each) === chosen);
  if (row && !at("detail").contains(document.getSelection()?.anchorNode)) await show(row, false);
}

async function follow() {
  for (;;) {
    try {
      const answer = await fetch("/api/changes", { headers: { Authorization: `Bearer ${token}` } });
      if (!answer.ok) throw new Error((await answer.json()).error);
      say("live");
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let part = await reader.read(); !part.done; part = await reader.read()) if (part.value.includes("data:")) await refresh();
      say("the program has ended", true);
    } catch (error) { say(error instanceof TypeError ? "the program does not answer" : error.message, true); }
    await new Promise((resolve) => setTimeout(resolve, 2000));
  }
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || at("question").open) return;
  const all = [...at("rows").children];
  const place = all.findIndex((each) => each === document.activeElement || (chosen !== null && each.dataset.key === chosen));
  if (event.key === "j" || event.key === "k") {
    const next = all[Math.min(all.length - 1, Math.max(0, place + (event.key === "j" ? 1 : -1)))];
    next?.focus();
    if (chosen !== null && next) show(rows.find((row) => keyOf(row) === next.dataset.key), false);
  } else if (event.key === "Enter" && document.activeElement?.dataset?.key) {
    show(rows.find((row) => keyOf(row) === document.activeElement.dataset.key));
  } else if (event.key === "Escape" && chosen !== null) hide();
  else if (/^[1-6]$/.test(event.key)) at("tabs").children[Number(event.key) - 1]?.click();
});

follow();
