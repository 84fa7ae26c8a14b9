// Keys, the log of an agent, and the notice of a lost server. All other changes are htmx's.
(function () {
  "use strict";
  var byId = function (id) { return document.getElementById(id); };

  function show(element) {
    if (element && !element.checkVisibility()) element = element.closest("article.file").querySelector("[data-file]");
    if (!element) return;
    element.focus();
    element.scrollIntoView({ block: "nearest" });
  }

  function move(step, kind) {  // to the next visible item from the focus on, in the page's order
    var from = document.activeElement, after = Node.DOCUMENT_POSITION_FOLLOWING;
    var items = Array.from(document.querySelectorAll(kind)).filter(function (one) {
      return one !== from && one.checkVisibility();
    });
    if (from === document.body) return show(items[0]);
    var beyond = items.filter(function (one) {
      return !(from.compareDocumentPosition(one) & after) === (step < 0);
    });
    show(step < 0 ? beyond.pop() : beyond[0]);
  }

  // Lines of a diff: the focus is the cursor, `first` the other end of a range.
  var first = null;
  var LINES = "tr.add, tr.del, tr.same";
  function lineAt(element) { return element && element.closest && element.closest(".diff tr:not(.said)"); }

  function mark() {
    document.querySelectorAll("tr.chosen").forEach(function (row) { row.classList.remove("chosen"); });
    chosen().forEach(function (row) { row.classList.add("chosen"); });
  }

  function chosen() {  // the lines from `first` to the focus, in the order of the page
    var last = lineAt(document.activeElement);
    if (!last) return [];
    var rows = Array.from(last.closest("article.file").querySelectorAll(LINES));
    var ends = [rows.indexOf(first), rows.indexOf(last)];
    if (ends[0] < 0) ends[0] = ends[1];
    return rows.slice(Math.min.apply(null, ends), Math.max.apply(null, ends) + 1);
  }

  function pick(row, extends_) {
    row.tabIndex = -1;
    if (!extends_) first = row;
    show(row);
    mark();
  }

  function step(direction, extends_) {  // false if the focus is on no hunk
    var row = lineAt(document.activeElement), hunk = document.activeElement.closest(".hunk");
    if (!hunk) return false;
    var rows = Array.from(hunk.closest("article.file").querySelectorAll(LINES));
    rows = rows.filter(function (one) { return one.checkVisibility(); });
    var at = rows.indexOf(row) + direction;
    if (!row) at = rows.findIndex(function (one) { return hunk.contains(one); });
    if (rows[at]) pick(rows[at], extends_);
    return true;
  }

  function comment() {  // write on the chosen lines, on a hunk's first changed line, or a draft
    var here = document.activeElement.closest("article.comment, .hunk, article.file");
    if (!here) return false;
    if (here.matches("article.comment.draft")) {
      here.querySelector("details").open = true;
      here.querySelector("textarea").focus();
      return true;
    }
    var file = here.closest("article.file"), rows = chosen();
    if (!file) return false;
    if (!rows.length) rows = Array.from(here.querySelectorAll("tr.add, tr.del")).slice(0, 1);
    var form = file.querySelector("form.on");
    if (!form) return false;
    var side = rows.length && number(rows[rows.length - 1], "new") ? "new" : "old";
    var found = rows.map(function (row) { return number(row, side); }).filter(Boolean);
    if (found.length) {
      form.elements.lines.value = found[0] === found[found.length - 1] ? found[0] : found[0] + "-" + found[found.length - 1];
      form.elements.side.value = side;
      var place = document.createElement("tr"), cell = place.insertCell();
      cell.colSpan = rows[0].cells.length;
      place.className = "said";
      rows[rows.length - 1].after(place);
      var before = form.closest("tr.said");
      cell.append(form);
      if (before) before.remove();
    } else file.querySelector("details.adding").open = true;
    form.elements.text.focus();
    form.scrollIntoView({ block: "nearest" });
    return true;
  }

  function number(row, side) { return row.querySelector(".no." + side).textContent; }

  function viewed() {  // the hunk of the focus, else its file
    var here = document.activeElement.closest(".hunk") || document.activeElement.closest("article.file");
    var button = here && here.querySelector("[data-viewed]");
    if (button) button.click();
    return !!button;
  }

  document.addEventListener("click", function (event) {
    if (!event.target.closest(".diff td.no")) return;
    var row = lineAt(event.target);
    if (!row || !row.matches(LINES)) return;
    pick(row, event.shiftKey && first && first.closest("article.file") === row.closest("article.file"));
    comment();
  });
  document.addEventListener("focusOn", function (event) { show(byId(event.detail.id)); });

  var PLACES = { g: "/", i: "/inbox", l: "/queue" };
  document.addEventListener("keydown", function (event) {
    var isField = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
    if (event.ctrlKey && event.key === "Enter" && isField) return event.target.form.requestSubmit();
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat && !/^([jk]|Arrow.*)$/.test(event.key)) return;
    if (isField) {
      if (event.key !== "Escape") return;
      var row = event.target.closest("tr.said");
      event.target.blur();
      if (row) pick(row.previousElementSibling, false);
      return;
    }
    var help = byId("help");
    if (help.open) return;
    if (event.key === "j") move(1, "[data-item]");
    else if (event.key === "k") move(-1, "[data-item]");
    else if (event.key === "n") move(1, "[data-file]");
    else if (event.key === "p") move(-1, "[data-file]");
    else if (event.key === "ArrowDown") { if (!step(1, event.shiftKey)) return; }
    else if (event.key === "ArrowUp") { if (!step(-1, event.shiftKey)) return; }
    else if (event.key === "c") { if (!comment()) return; }
    else if (event.key === "v") { if (!viewed()) return; }
    else if (event.key === "?") help.showModal();
    else if (PLACES[event.key]) location.assign(PLACES[event.key]);
    else if (/^[armu]$/.test(event.key)) {
      var field = document.querySelector('[data-focus="' + event.key + '"]');
      var button = document.querySelector('[data-key="' + event.key + '"]');
      if (field) field.focus();
      else if (button && !button.disabled) button.click();
      else return;
    } else return;
    event.preventDefault();
  });

  document.addEventListener("htmx:sseError", function () { byId("offline").hidden = false; });
  document.addEventListener("htmx:sseOpen", function () { byId("offline").hidden = true; });
  document.addEventListener("htmx:sendError", function () { byId("offline").hidden = false; });
  document.addEventListener("htmx:beforeSwap", function (event) {  // an error replaces no part of the page
    var detail = event.detail, status = detail.xhr.status;
    if (detail.requestConfig.verb !== "get" || status < 400) return;
    detail.shouldSwap = false;
    if (status === 401) byId("offline").hidden = false;
    byId("notice").textContent = "The page cannot be loaded again (HTTP status " + status + "): it may be old.";
  });
  // The live part as the server has sent it. An equal one replaces nothing but the ages in it.
  var known = "";
  document.addEventListener("DOMContentLoaded", function () { known = liveOf(document).text; });
  document.addEventListener("htmx:beforeSwap", function (event) {
    var detail = event.detail;
    if (detail.target.id !== "live" || detail.xhr.status !== 200) return;
    var found = liveOf(new DOMParser().parseFromString(detail.xhr.responseText, "text/html"));
    if (found.text === known) {
      detail.shouldSwap = false;
      detail.target.querySelectorAll(".ago").forEach(function (one, at) { one.textContent = found.ages[at]; });
    }
    known = found.text;
  });
  function liveOf(page) {
    var live = page.getElementById("live"), ages = [];
    if (!live) return { text: "", ages: ages };
    live = live.cloneNode(true);
    live.querySelectorAll(".ago").forEach(function (one) {
      ages.push(one.textContent);
      one.textContent = "";
    });
    return { text: live.innerHTML, ages: ages };
  }
  document.addEventListener("htmx:afterRequest", function (event) {
    var form = event.target.closest("form.write");
    if (form && event.detail.xhr && event.detail.xhr.status === 200) form.reset();
  });

  document.addEventListener("DOMContentLoaded", function () {
    var log = document.querySelector("[data-log]");
    if (!log) return;
    var source = null, hasEnded = false;
    function follow() {  // a browser opens six connections to a server, so a hidden tab keeps none
      if (source) source.close();
      source = null;
      if (document.hidden || hasEnded) return;
      source = new EventSource(log.dataset.log);
      source.addEventListener("start", function () { log.textContent = ""; });
      source.addEventListener("log", function (event) {
        var atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
        log.append(JSON.parse(event.data).join("\n") + "\n");
        while (log.childNodes.length > 200) log.firstChild.remove();
        if (atEnd) log.scrollTop = log.scrollHeight;
      });
      source.addEventListener("end", function (event) {
        log.append(JSON.parse(event.data));
        hasEnded = true;
        source.close();
      });
    }
    document.addEventListener("visibilitychange", follow);
    follow();
  });
})();
