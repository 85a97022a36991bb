"use strict";
(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const order = ["auto", "light", "dark"];
  const remembered = () => {
    try { return localStorage.getItem("ceo-arena-theme"); } catch { return null; }
  };
  const show = (theme) => {
    if (theme === "auto") delete root.dataset.theme; else root.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
  };
  const contents = document.querySelector("nav.contents details");
  if (contents && matchMedia("(max-width: 56rem)").matches) contents.open = false;
  let theme = order.includes(remembered()) ? remembered() : "auto";
  show(theme);
  button.addEventListener("click", () => {
    theme = order[(order.indexOf(theme) + 1) % order.length];
    try { localStorage.setItem("ceo-arena-theme", theme); } catch { /* a page from a file may not */ }
    show(theme);
  });
})();
