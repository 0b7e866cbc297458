"use strict";
(() => {
  const tip = document.getElementById("tip");
  const isMark = (element) => element instanceof Element && element.getAttribute("role") === "option";

  function show(mark) {
    tip.textContent = mark.getAttribute("aria-label");
    tip.hidden = false;
    const at = mark.getBoundingClientRect();
    const size = tip.getBoundingClientRect();
    const room = document.documentElement.clientWidth - size.width - 16;
    const above = at.top - size.height - 10;
    tip.style.left = `${Math.max(16, Math.min(at.left, room))}px`;
    tip.style.top = `${above > 8 ? above : at.bottom + 10}px`;
  }

  function hide() {
    tip.hidden = true;
  }

  function choose(mark) {
    const marks = mark.parentElement.children;
    for (const other of marks) {
      other.tabIndex = other === mark ? 0 : -1;
      other.setAttribute("aria-selected", String(other === mark));
    }
    mark.focus();
  }

  function nearest(track, mark) {
    const middle = (box) => box.left + box.width / 2;
    const from = middle(mark.getBoundingClientRect());
    const distance = (other) => Math.abs(middle(other.getBoundingClientRect()) - from);
    return [...track.children].reduce((best, other) => (distance(other) < distance(best) ? other : best));
  }

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return hide();
    const mark = event.target;
    if (!isMark(mark) || event.ctrlKey || event.metaKey || event.altKey) return;
    const tracks = [...document.querySelectorAll(".track")];
    const row = tracks.indexOf(mark.parentElement);
    const next = {
      ArrowRight: mark.nextElementSibling,
      ArrowLeft: mark.previousElementSibling,
      Home: mark.parentElement.firstElementChild,
      End: mark.parentElement.lastElementChild,
      ArrowDown: tracks[row + 1] && nearest(tracks[row + 1], mark),
      ArrowUp: tracks[row - 1] && nearest(tracks[row - 1], mark),
    };
    if (!(event.key in next)) return;
    event.preventDefault();
    if (next[event.key]) choose(next[event.key]);
  });
  document.addEventListener("focusin", (event) => (isMark(event.target) ? show(event.target) : hide()));
  document.addEventListener("focusout", hide);
  document.addEventListener("pointerover", (event) => {
    if (isMark(event.target)) show(event.target);
  });
  document.addEventListener("pointerout", (event) => {
    if (!isMark(event.target)) return;
    if (isMark(document.activeElement)) show(document.activeElement);
    else hide();
  });
  window.addEventListener("scroll", hide, { passive: true });
})();
