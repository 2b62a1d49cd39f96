// Keys and live update. Everything else works without this script.
"use strict";
(() => {
  const items = () => Array.from(document.querySelectorAll("main [data-item]"));
  let at = null; // the chosen row or turn
  const choose = (item) => {
    if (at) at.classList.remove("at");
    at = item;
    if (!item) return;
    item.classList.add("at");
    const link = item.querySelector("a[href]");
    const goal = item.matches("tr, li") && link ? link : item;
    goal.focus({ preventScroll: true });
    item.scrollIntoView({ block: "nearest" });
    if (item.id) history.replaceState(null, "", "#" + item.id);
  };
  const move = (step) => {
    const list = items();
    const now = list.indexOf(at);
    const next = now < 0 ? (step > 0 ? 0 : list.length - 1) : now + step;
    if (list[next]) choose(list[next]);
  };
  const follow = (selector) => {
    const link = document.querySelector(selector);
    if (link) location.href = link.href;
  };
  const keys = document.getElementById("keys");
  const help = document.getElementById("help-button");
  help.hidden = false;
  help.addEventListener("click", () => keys.showModal());
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const typing = event.target.closest("input, select, textarea");
    if (typing) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (keys.open) return;
    switch (event.key) {
      case "j": move(1); break;
      case "k": move(-1); break;
      case "n": follow("a[rel=next]"); break;
      case "p": follow("a[rel=prev]"); break;
      case "u": follow("#up"); break;
      case "Enter": {
        if (event.target.closest("a, button, summary")) return;
        const link = at && at.querySelector("a[href]");
        if (!link) return;
        location.href = link.href;
        break;
      }
      case "/": {
        const field = document.getElementById("search");
        if (!field) return;
        field.focus();
        field.select();
        break;
      }
      case "?": keys.showModal(); break;
      default: return;
    }
    event.preventDefault();
  });
  const named = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (named && named.hasAttribute("data-item")) choose(named);

  document.addEventListener("change", (event) => {
    const field = event.target.closest(".filter select, .filter input[type=checkbox]");
    if (field) field.form.requestSubmit();
  });

  // A page that follows its run asks for the run's state, and replaces its content when that has changed.
  const main = document.getElementById("main");
  if (main.dataset.live === undefined) return;
  const busy = () => {
    const field = document.activeElement;
    return field && field.closest(".filter") || keys.open || String(getSelection());
  };
  const update = async () => {
    const states = await (await fetch("/state")).json();
    const state = states[Number(main.dataset.live)];
    if (!state || String(state.version) === main.dataset.version || busy()) return;
    const text = await (await fetch(location.pathname + location.search)).text();
    const fresh = new DOMParser().parseFromString(text, "text/html").getElementById("main");
    if (!fresh || busy()) return;
    const chosen = at && at.id;
    const focused = at && at.contains(document.activeElement);
    main.replaceChildren(...Array.from(fresh.childNodes).map((n) => document.importNode(n, true)));
    main.dataset.version = fresh.dataset.version;
    at = null;
    const again = chosen && document.getElementById(chosen);
    if (again && focused) choose(again);
    else if (again) { at = again; again.classList.add("at"); }
  };
  const loop = async () => {
    try {
      await update();
    } catch {
      const line = document.getElementById("progress");
      if (line) line.textContent = "The server does not answer: seatrial view has ended.";
    }
    setTimeout(loop, 2000);
  };
  setTimeout(loop, 2000);
})();
