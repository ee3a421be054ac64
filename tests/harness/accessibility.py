"""Examines what is on a page with axe-core, in light and in dark, and names what breaks a rule of accessibility."""

from __future__ import annotations

from typing import Literal, NamedTuple

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

from tests.harness.browser import Studio

_TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
"""All of WCAG 2.2, level AA, and what axe-core recommends beyond it."""

_COLOURS = ("color-contrast", "link-in-text-block")
"""The rules that the scheme matters to; all others are looked at once."""


class Excused(NamedTuple):
    """A rule that elements break by the markup of a library, which no theme and no style sheet can change."""

    rule: str
    selector: str
    reason: str


EXCUSED = (
    Excused(
        "presentation-role-conflict",
        '[data-testid="stFileUploaderDropzone"]',
        "Streamlit gives the place for dropped files role=presentation, a label and a tabindex; its button inside "
        "is named and reached by Tab.",
    ),
    Excused(
        "region",
        "#stFloatingOverlayPortal",
        "Streamlit draws tooltips and lists that open at the end of the body, outside of all landmarks.",
    ),
)

_EXAMINE = """async ([only, excused]) => {
  const found = await axe.run(document, {
    runOnly: only,
    rules: {"target-size": {enabled: only.type === "tag"}},
    resultTypes: ["violations"],
    elementRef: true,
  });
  const isExcused = (rule, element) => excused.some(([id, selector]) => id === rule && element.matches(selector));
  return found.violations.flatMap((rule) => rule.nodes
    .filter((node) => !isExcused(rule.id, node.element))
    .map((node) => `${rule.id}: ${node.html.slice(0, 200)} ${node.failureSummary}`));
}"""

_IN_SCHEME = """(dark) => new Promise((done) => {
  const ends = (one) => one.playState === "running" && Number.isFinite(one.effect.getComputedTiming().endTime);
  const look = () => {
    const ground = getComputedStyle(document.querySelector('[data-testid="stApp"]')).backgroundColor;
    const isDark = Number(ground.match(/\\d+/)[0]) < 128;
    const rests = isDark === dark && !document.getAnimations().some(ends);
    if (rests) done(); else requestAnimationFrame(look);
  };
  look();
})"""
"""Answers when the page is drawn in the scheme, and nothing on it fades or grows any more."""


def violations(studio: Studio) -> list[str]:
    """Return what breaks a rule on the page as it is, in both schemes; the page is then in the light one."""
    studio.rest()
    page = studio.page
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    excused = [[each.rule, each.selector] for each in EXCUSED]
    found = _found(page, "dark", {"type": "rule", "values": _COLOURS}, excused)
    return found + _found(page, "light", {"type": "tag", "values": _TAGS}, excused)


def _found(page: Page, scheme: Literal["light", "dark"], only: object, excused: list[list[str]]) -> list[str]:
    page.emulate_media(color_scheme=scheme)
    page.evaluate(_IN_SCHEME, scheme == "dark")
    return [f"{scheme}: {each}" for each in page.evaluate(_EXAMINE, [only, excused])]
