"""What the keyboard and the colour scheme need beyond what Streamlit does: the focus follows what opens and goes, and menus have the app's colours."""

from __future__ import annotations

import streamlit as st

_FOLLOW = """
const app = document.querySelector('[data-testid="stApp"]');
const follow = () => { document.documentElement.style.colorScheme = getComputedStyle(app).colorScheme; };
new MutationObserver(follow).observe(app, { attributes: true, attributeFilter: ["class"] });
follow();

export default function () {}
"""
_color_scheme = st.components.v2.component("studio_color_scheme", html="<span></span>", js=_FOLLOW)


def color_scheme() -> None:
    """Let `light-dark()` in the style sheet mean the same everywhere on the page; call it once in each run."""
    with st.container(key="color_scheme_unseen"):
        _color_scheme(key="color_scheme")


OPENS_MS = 8_000
"""A menu, an editor or the search gets the focus that comes so long after its key, at most."""

SEARCH_OPENED = "studio-search-opened"
"""The event by which the search says that its field can be typed in."""

_KEYBOARD = f"""
const CONTROLS = "input, textarea, button, summary, canvas, a[href], [tabindex]";
const FIELDS = "input:not([role=switch]), textarea, canvas";
const find = (selector, within = document) => [...within.querySelectorAll(selector)];
const usable = (one) => one.isConnected && !one.disabled && one.getClientRects().length > 0;
const controls = (place, kind = CONTROLS) => find(kind, place).filter((one) => usable(one) && one.tabIndex >= 0);
const rests = () => find('[data-testid="stApp"]')[0]?.dataset.testScriptState === "notRunning";
const menu = () => find('[data-testid="stPopoverBody"]')[0];
const editor = () => find(".st-key-part_buttons")[0]?.parentElement.closest('[class*="st-key-pane_"]');
const isSoon = (asked) => asked && performance.now() - asked.at < {OPENS_MS};

let byKeys = false; // the keyboard was used last, not the mouse
let last = null; // what has or had the focus, and the keys of what is around it
let opened = null; // the button of the menu that is open or about to be
let editing = null; // the button that may bring an editor
let cameFrom = null; // the keys around the button that has brought it
let early = null; // what is typed before the search has its field

function keysOf(one) {{
  const keys = [];
  for (let at = one; at; at = at.parentElement) keys.push(...[...at.classList].filter((name) => name.startsWith("st-key-")));
  return opened && menu()?.contains(one) ? [...keys, ...opened.keys] : keys;
}}

function go(to) {{
  if (!to || !usable(to)) return false;
  const isPart = !to.matches(CONTROLS) || to.tabIndex < 0;
  if (isPart) to.tabIndex = -1;
  to.focus({{ preventScroll: isPart }});
  return document.activeElement === to;
}}

// To the same control where it was replaced, else to the nearest part around it that is left, else to what waits on the page.
function restore(lost) {{
  const places = (key) => find("." + CSS.escape(key));
  const within = (key, kind) => places(key).some((place) => go(controls(place, kind)[0]));
  const home = editor() ? [] : cameFrom ?? [];
  if (home.length) cameFrom = null;
  if (home.some((key) => within(key))) return;
  const [own] = lost.keys;
  if (own && (within(own, lost.element.localName) || within(own))) return;
  if (lost.keys.some((key) => places(key).some(go))) return;
  find('[data-testid="stMain"], .st-key-pane_decision').reverse().some(go);
}}

function look() {{
  if (!byKeys) return;
  const shown = isSoon(opened) && !opened.done && menu();
  if (shown && (controls(shown).length || (rests() && shown.innerText.trim()))) opened.done = go(controls(shown)[0] ?? shown);
  const part = isSoon(editing) && rests() && editor();
  if (part && go(controls(part, FIELDS)[0])) [cameFrom, editing] = [editing.keys, null];
  const at = document.activeElement;
  if (at && at !== document.body && !at.disabled) return;
  if (last && !usable(last.element) && rests() && !find('[data-testid="stDialog"]').length) restore(last);
}}

// A menu is at the end of the document: Tab leads from its ends to what is next to its button.
function leave(event, within) {{
  const all = controls(within);
  const isEnd = event.shiftKey ? [all[0], within].includes(event.target) : !all.length || event.target === all.at(-1);
  if (!isEnd || !opened?.element.isConnected) return;
  opened.element.focus();
  if (event.shiftKey) event.preventDefault();
}}

function searching() {{
  if (!find(".st-key-search_words input").length) early = {{ at: performance.now(), text: "", enter: false }};
}}

// Letters that come before the field would go to whatever has the focus, or choose a candidate.
function collect(event) {{
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" || event.key === "Tab") early = null;
  else if (event.key === "Backspace") early.text = early.text.slice(0, -1);
  else if (event.key === "Enter") early.enter = true;
  else if (event.key.length === 1) early.text += event.key;
  else return;
  event.preventDefault();
  event.stopImmediatePropagation();
}}

function pressed(event) {{
  byKeys = true;
  if (!isSoon(early)) early = null;
  if (early) return collect(event);
  const isSearch = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k";
  if (isSearch && controls(document, ".st-key-search button").length) searching();
  const within = menu();
  if (event.key === "Tab" && within?.contains(event.target)) leave(event, within);
}}

function clicked(event) {{
  const button = event.target.closest?.("button");
  if (!button) return;
  if (button.closest(".st-key-search")) searching();
  if (event.detail) return; // by the mouse
  const asked = {{ element: button, keys: keysOf(button), at: performance.now() }};
  if (button.dataset.testid === "stPopoverButton") opened = button.ariaExpanded === "true" ? null : asked;
  else editing = editor() ? null : asked;
}}

function typed() {{
  const field = find(".st-key-search_words input")[0];
  const held = early;
  early = null;
  if (!field || !held) return;
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(field, held.text);
  field.dispatchEvent(new Event("input", {{ bubbles: true }}));
  if (held.enter) field.dispatchEvent(new KeyboardEvent("keydown", {{ key: "Enter", bubbles: true }}));
}}

window.addEventListener("keydown", pressed, true);
window.addEventListener("click", clicked, true);
window.addEventListener("pointerdown", () => {{ byKeys = false; last = opened = editing = cameFrom = early = null; }}, true);
window.addEventListener("focusin", ({{ target }}) => {{ last = {{ element: target, keys: keysOf(target) }}; }}, true);
document.addEventListener("{SEARCH_OPENED}", typed);
let drawn = 0;
new MutationObserver(() => {{ cancelAnimationFrame(drawn); drawn = requestAnimationFrame(look); }}).observe(document.body, {{
  subtree: true, childList: true, attributes: true, attributeFilter: ["disabled", "data-test-script-state"],
}});

export default function () {{}}
"""
_keyboard = st.components.v2.component("studio_keyboard", html="<span></span>", js=_KEYBOARD)


def keyboard() -> None:
    """Let the page follow the keyboard; call it once in each run.

    After a key on its button, a menu or the editor of a part has the focus. Where what had it is gone, the nearest part
    around it gets it. Letters that are typed while the search opens come into its field.
    """
    with st.container(key="keyboard_unseen"):
        _keyboard(key="keyboard")
