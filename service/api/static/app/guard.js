/**
 * A classic script before the modules of a page: what the reader sees if they cannot be loaded or fail.
 *
 * It uses no syntax that an old browser lacks, and needs no other file; its texts are in its element. A server of
 * another build does not have the modules of this page, so the page loads itself again, once. `reloaded` in the
 * address records this, because the storage may be blocked.
 */
(function () {
  "use strict";

  var MARK = "reloaded";
  /** What the modules need, as the names that a search engine finds. They do without everything newer. */
  var NEEDED = [
    ["JavaScript modules", "noModule" in HTMLScriptElement.prototype],
    ["Array.prototype.at", typeof [].at === "function"],
    ["Object.hasOwn", "hasOwn" in Object],
    ["<dialog>", typeof HTMLDialogElement === "function" && "showModal" in HTMLDialogElement.prototype],
    ["fetch with streams", typeof ReadableStream === "function" && typeof AbortController === "function"],
    ["crypto.getRandomValues", typeof crypto === "object" && "getRandomValues" in crypto],
    ["Intl.ListFormat", typeof Intl === "object" && "ListFormat" in Intl],
  ];
  var script = document.currentScript;
  /** @type {Record<string, Record<string, string>>} */
  var texts = JSON.parse((script && script.getAttribute("data-texts")) || "{}");
  var hasStarted = false;
  var hasFailed = false;

  try {
    // A page can keep a place for what only a known player has.
    if (localStorage.getItem("shithead.player")) document.documentElement.className = "known";
  } catch (blocked) {
    // The storage is blocked: no player is known.
  }

  /** @returns {string} the language of the reader, if there are texts in it */
  function language() {
    var chosen = null;
    try {
      chosen = localStorage.getItem("shithead.language");
    } catch (blocked) {
      // The language of the browser is used.
    }
    var wanted = [chosen].concat(navigator.languages || [navigator.language]);
    for (var at = 0; at < wanted.length; at += 1) {
      var code = (wanted[at] || "").slice(0, 2);
      if (code in texts) return code;
    }
    return "en";
  }

  /** @param {string} key @returns {string} */
  function text(key) {
    return texts[language()][key];
  }

  /** Request the texts of the page now: the modules that load them have not arrived yet. */
  function requestTexts() {
    var parts = ((script && script.getAttribute("data-parts")) || "").split(" ");
    var folder = script instanceof HTMLScriptElement ? script.src.replace("guard.js", "strings/") : "";
    [""].concat(parts[0] ? parts : []).forEach(function (part) {
      var link = document.createElement("link");
      link.rel = "preload";
      link.as = "fetch";
      link.crossOrigin = "anonymous";
      link.href = folder + (part ? part + "/" : "") + language() + ".json";
      document.head.appendChild(link);
    });
  }

  /** Show a sentence, with a button that loads the page again. @param {string} sentence @param {boolean} again */
  function show(sentence, again) {
    var main = document.querySelector("main");
    if (!main) {
      document.addEventListener("DOMContentLoaded", function () {
        show(sentence, again);
      });
      return;
    }
    var notice = document.createElement("p");
    notice.id = "guard";
    notice.className = "notice warning lost";
    notice.lang = language();
    notice.setAttribute("role", "alert");
    notice.appendChild(document.createTextNode(sentence + " "));
    if (again) {
      var button = document.createElement("button");
      button.type = "button";
      button.appendChild(document.createTextNode(text("guard.again")));
      button.addEventListener("click", function () {
        location.reload();
      });
      notice.appendChild(button);
    }
    main.insertBefore(notice, main.firstChild);
  }

  /** Show an error that no script has handled. @param {any} error @param {string} where the files of its stack */
  function stop(error, where) {
    var isOwn = (where || "").indexOf(location.origin + "/static/") >= 0;
    if (!isOwn || hasFailed || (error && error.name === "AbortError")) return;
    hasFailed = true;
    var reason = (error && error.message) || error;
    // The answer of a server, or none, is no fault of the page (`Problem` of api.js).
    show(error && typeof error.status === "number" ? reason : text("guard.stopped").replace("{reason}", reason), true);
  }

  /** @returns {string} the query of the address without the mark */
  function unmarked() {
    var parts = location.search.slice(1).split("&");
    var others = parts.filter(function (part) {
      return part !== "" && part !== MARK;
    });
    return others.length ? "?" + others.join("&") : "";
  }

  /** Load the page again if it is starting and was not loaded again before; else show what happened. */
  function fail() {
    if (hasFailed) return;
    hasFailed = true;
    var isMarked = ("&" + location.search.slice(1) + "&").indexOf("&" + MARK + "&") >= 0;
    var report = function () {
      show(text("guard.failed"), true);
    };
    if (hasStarted || isMarked) return report();
    // A browser would replace the page by its own error page if the server did not answer.
    fetch(location.pathname, { method: "HEAD", cache: "no-store", credentials: "omit" }).then(function () {
      var query = unmarked();
      location.replace(location.pathname + (query ? query + "&" : "?") + MARK + location.hash);
    }, report);
  }

  var missing = NEEDED.filter(function (one) {
    return !one[1];
  }).map(function (one) {
    return one[0];
  });
  if (missing.length) {
    show(text("guard.lacks").replace("{missing}", missing.join(", ")), false);
    return;
  }
  var onerror = function (/** @type {Event} */ event) {
    if (event instanceof ErrorEvent) return stop(event.error || event.message, event.filename);
    var element = event.target;
    var address = element instanceof HTMLScriptElement ? element.src : element instanceof HTMLLinkElement ? element.href : "";
    if (address.indexOf(location.origin + "/static/") === 0) fail();
  };
  addEventListener("error", onerror, true); // of elements: these events do not bubble
  addEventListener("unhandledrejection", function (event) {
    stop(event.reason, event.reason && event.reason.stack);
  });
  requestTexts();
  addEventListener("file-missing", fail);
  addEventListener("page-started", function () {
    hasStarted = true;
    if (!hasFailed && unmarked() !== location.search) {
      history.replaceState(history.state, "", location.pathname + unmarked() + location.hash);
    }
  });
})();
