// A wide table scrolls in a box that the theme adds when a page opens. Without this, the keyboard cannot reach it.
const reach = () => {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) {
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "Table");
  }
};
new MutationObserver(reach).observe(document.body, { childList: true, subtree: true });
reach();
