// Keys, the log of an agent, and the notice of a lost server. All other changes are htmx's.
(function () {
  "use strict";
  var byId = function (id) { return document.getElementById(id); };

  function move(step) {
    var items = Array.from(document.querySelectorAll("[data-item]"));
    if (!items.length) return;
    var at = items.indexOf(document.activeElement.closest("[data-item]"));
    var next = items[Math.min(items.length - 1, Math.max(0, at + step))] || items[0];
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  }

  var PLACES = { g: "/", i: "/inbox", l: "/queue" };
  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat && !/^[jk]$/.test(event.key)) return;
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    var help = byId("help");
    if (help.open) return;
    if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
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
