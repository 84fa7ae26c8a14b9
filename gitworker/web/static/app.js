const one = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const on = (type, act) => document.addEventListener(type, act);
const focused = (selector) => document.activeElement.closest(selector);
const isSeen = (element) => element.checkVisibility();
const fileOf = (element) => element.closest("article.file");

function show(element) {
  if (element && !isSeen(element)) element = one("[data-file]", fileOf(element));
  element?.focus();
  element?.scrollIntoView({ block: "nearest" });
}

function move(step, kind) {  // to the next visible item after the focus
  const from = document.activeElement;
  const items = all(`[data-${kind}]`).filter((item) => item !== from && isSeen(item)), isBack = step < 0;
  if (from === document.body) return show(items[0]);
  show(items.filter((item) => !(from.compareDocumentPosition(item) & 4) === isBack).at(isBack ? -1 : 0));
}

// Lines of a diff: the focus is the cursor, `first` the other end of a range.
let first = null;
const LINES = "tr.add, tr.del, tr.same";
const lineAt = (element) => element.closest(".diff tr:not(.said)");
const number = (row, side) => one(".no." + side, row).textContent;

function chosen() {  // from `first` to the focus
  const last = lineAt(document.activeElement);
  if (!last) return [];
  const rows = all(LINES, fileOf(last)), end = rows.indexOf(last);
  const start = rows.includes(first) ? rows.indexOf(first) : end;
  return rows.slice(Math.min(start, end), Math.max(start, end) + 1);
}

function pick(row, extend) {
  row.tabIndex = -1;
  if (!extend) first = row;
  show(row);
  all("tr.chosen").forEach((item) => item.classList.remove("chosen"));
  chosen().forEach((item) => item.classList.add("chosen"));
}

function step(direction, extend) {  // false outside a hunk
  const hunk = focused(".hunk"), row = lineAt(document.activeElement);
  if (!hunk) return false;
  const rows = all(LINES, fileOf(hunk)).filter(isSeen);
  const next = row ? rows.indexOf(row) + direction : rows.findIndex((item) => hunk.contains(item));
  if (rows[next]) pick(rows[next], extend);
}

function comment(isOld) {  // on lines, a draft, or all
  const here = focused("article.comment, .hunk, article.file");
  if (here?.matches("article.comment.draft")) {
    one("details", here).open = true;
    const draft = one("textarea", here);
    draft.focus();
    return draft.setSelectionRange(1e6, 1e6);
  }
  const file = here && fileOf(here), form = file && one("form.on", file);
  if (!form) return decide("r");
  const rows = chosen(), { lines, side, text } = form.elements;
  if (!rows.length) rows.push(...all("tr.add, tr.del", here).slice(0, 1));
  const last = rows.at(-1), version = last && number(last, "new") && !isOld ? "new" : "old";
  const found = rows.map((row) => number(row, version)).filter(Boolean);
  if (found.length) {
    lines.value = [...new Set([found[0], found.at(-1)])].join("-");
    side.value = version;
    const before = form.closest("tr.said");
    last.insertAdjacentHTML("afterend", `<tr class="said"><td colspan="${last.cells.length}">`);
    last.nextSibling.firstChild.append(form);
    before?.remove();
  } else one("details.adding", file).open = true;
  text.focus();
}

function press(button) {  // false if nothing can be pressed
  if (!button || button.disabled) return false;
  button.click();
}

function viewed() {  // the hunk of the focus, else its file
  return press((focused(".hunk") ?? focused("article.file"))?.querySelector("[data-viewed]"));
}

function decide(key) {
  const field = one(`[data-focus="${key}"]`);
  return field ? field.focus() : press(one(`[data-key="${key}"]`));
}

on("click", ({ target, shiftKey }) => {
  const row = target.closest(".diff td.no") && lineAt(target);
  if (!row?.matches(LINES)) return;
  pick(row, shiftKey && first && fileOf(first) === fileOf(row));
  comment(target.matches(".pair .old"));
});
on("focusOn", ({ detail }) => show(one(`[id="${detail.id}"]`)));

const KEYS = {  // false leaves the key to the browser
  j: () => move(1, "item"), k: () => move(-1, "item"),
  n: () => move(1, "file"), p: () => move(-1, "file"),
  ArrowDown: ({ shiftKey }) => step(1, shiftKey), ArrowUp: ({ shiftKey }) => step(-1, shiftKey),
  c: () => comment(), v: viewed, "?": () => one("#help").showModal(),
};
for (const key of [..."armugilN", "Escape"]) KEYS[key] = () => decide(key);
on("keydown", (event) => {
  const { key, target, ctrlKey } = event;
  const isField = target.matches("input, textarea, select");
  if (ctrlKey && key === "Enter" && isField) return target.form.requestSubmit();
  if (ctrlKey || event.metaKey || event.altKey || event.repeat && !/^[jk]$|Arrow/.test(key)) return;
  if (isField) {
    if (key !== "Escape") return;
    const row = target.closest("tr.said");
    target.blur();
    if (row) pick(row.previousElementSibling);
  } else if (!one("#help").open && key in KEYS && KEYS[key](event) !== false) event.preventDefault();
});

// Events. A browser opens six connections to a server, so a hidden page keeps none.
function follow(address, after, listeners, report) {
  let source, later, isOver;
  const start = () => {
    clearTimeout(later);
    source?.close();
    if (document.hidden || isOver) return;
    source = new EventSource(address + after);
    source.onopen = () => report?.(false);
    source.onerror = () => {
      report?.(true);
      if (report && source.readyState === 2) later = setTimeout(start, 2000);  // refused
    };
    for (const name in listeners) source.addEventListener(name, (event) => {
      after = event.lastEventId;
      listeners[name](event);
    });
  };
  on("visibilitychange", start);
  start();
  return () => { isOver = true; start(); };
}
const reportOffline = (is) => { one("#offline").hidden = !is; };
on("htmx:sendError", () => reportOffline(true));

const reload = ({ type }) => all(`[hx-trigger=${type}]`).forEach((item) => htmx.trigger(item, type));
const { last } = document.body.dataset;
if (last) follow("/events?after=", last, { changed: reload, notice: reload }, reportOffline);

const log = one("[data-log]");
const end = log && follow(log.dataset.log, "", {
  start() { log.textContent = ""; },
  log({ data }) {
    const isAtEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
    log.append(JSON.parse(data).join("\n") + "\n");
    while (log.childNodes.length > 200) log.firstChild.remove();
    if (isAtEnd) log.scrollTop = log.scrollHeight;
  },
  end({ data }) {
    log.append(JSON.parse(data));
    end();
  },
});

// An equal live part replaces only the ages in it.
function liveOf(page) {
  const live = one("#live", page);
  if (!live) return { text: "" };
  const copy = live.cloneNode(true), found = all(".ago", copy), ages = found.map((item) => item.textContent);
  for (const item of found) item.textContent = "";
  return { text: copy.innerHTML, ages };
}
let known = liveOf(document).text;
const hasText = (field) => field.value !== field.defaultValue;
const report = (text) => { one("#notice").textContent = text; };
on("htmx:beforeSwap", ({ detail }) => {  // an error replaces no part of the page
  const { xhr: { status, responseText }, target, requestConfig: { verb } } = detail;
  if (status >= 400 && target.id !== "notice") {
    detail.shouldSwap = false;
    if (status === 401) reportOffline(true);
    report(verb === "get" ? `The page cannot be loaded again (HTTP status ${status}): it may be old.` : responseText);
  } else if (target.id === "live" && status === 200) {
    const page = new DOMParser().parseFromString(responseText, "text/html");
    if (all("textarea", target).some((field) => hasText(field) && !one(`[id="${field.id}"]`, page))) {
      detail.shouldSwap = false;
      return report("This item has changed. Copy your text, then load the page again.");
    }
    const found = liveOf(page);
    if (found.text === known) {
      detail.shouldSwap = false;
      all(".ago", target).forEach((item, at) => { item.textContent = found.ages[at]; });
    }
    known = found.text;
  }
});
const reveal = (field) => { (field.closest("details") ?? {}).open = true; };
on("htmx:afterSettle", () => all("details textarea").filter(hasText).forEach(reveal));

// A text that was typed outlives a page that is loaded again, also for the next round.
const keyOf = ({ id }) => location.pathname + "#" + id.replace(/^(on-\w+)-\d+/, "$1");
addEventListener("pagehide", () => all("textarea").filter(hasText).forEach((field) => {
  sessionStorage.setItem(keyOf(field), field.value);
}));
all("textarea").forEach((field) => {
  const kept = sessionStorage.getItem(keyOf(field));
  sessionStorage.removeItem(keyOf(field));
  if (!kept || field.value) return;
  field.value = kept;
  reveal(field);
});
on("htmx:beforeRequest", (event) => {  // a review is not sent without the comment in an open form
  const left = event.target.id.startsWith("review-") && all("form.on textarea").find(hasText);
  if (!left) return;
  event.preventDefault();
  report("First add this comment as a draft, or clear it.");
  left.focus();
});
on("htmx:afterRequest", ({ target, detail }) => {
  if (detail.xhr?.status === 200) target.closest("form.write")?.reset();
});
