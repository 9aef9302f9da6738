// The style of a page about a step, in light and in dark.
#ifndef ST_REPORT_STYLE_H
#define ST_REPORT_STYLE_H

namespace st {

/// It contains no character with a special meaning in XML. Colours of classes can be told apart
/// without red and green.
constexpr char kPageStyle[] = R"css(
:root { color-scheme: light dark; --ink: #1b1b1b; --paper: #ffffff; --faint: #6a6a6a;
  --line: #d9d9d9; --fill: #cfe3f5; --wait: #cccccc; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --paper: #16181b; --faint: #a0a0a0; --line: #3a3d42; --fill: #24435f;
    --wait: #555a61; } }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1060px; margin: 0 auto; padding: 1rem 1.25rem 3rem; }
h1 { font-size: 1.6rem; margin: 0.6rem 0 0.2rem; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 0.6rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.2rem 0 0.4rem; }
.note, .how { color: var(--faint); font-size: 0.88rem; }
.scroll { overflow-x: auto; margin: 0.6rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.18rem 0.7rem; text-align: right; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
th { font-weight: 600; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
#summary th { display: none; }
#summary td { text-align: left; white-space: normal; }
#links td:nth-child(5), #links th:nth-child(5), #path td:nth-child(6), #path th:nth-child(6),
#path td:nth-child(2) { text-align: left; }
td.bar { background: linear-gradient(90deg, var(--fill) var(--part), transparent var(--part)); }
li { margin-bottom: 0.7rem; }
details { margin: 0.4rem 0; }
summary { cursor: pointer; color: var(--faint); }
.chart { width: 100%; height: auto; display: block; }
.chart text { fill: var(--ink); font: 11px system-ui, sans-serif; }
.chart .grid { stroke: var(--line); stroke-width: 0.6; }
.chart .limit { stroke: var(--ink); stroke-width: 1; stroke-dasharray: 5 4; }
.chart .hover { fill: transparent; }
.chart .hover:hover { fill: var(--ink); fill-opacity: 0.18; }
.critical { fill: var(--ink); }
.legend { font-size: 0.88rem; margin: 0.3rem 0; }
.key { display: inline-block; width: 0.85em; height: 0.85em; margin: 0 0.35em 0 0.8em;
  vertical-align: -0.08em; }
.c0 { fill: #56b4e9; background: #56b4e9; }
.c1 { fill: #0072b2; background: #0072b2; }
.c2 { fill: #009e73; background: #009e73; }
.c3 { fill: #8c6bb1; background: #8c6bb1; }
.c4 { fill: #e69f00; background: #e69f00; }
.c5 { fill: #cc79a7; background: #cc79a7; }
.c6 { fill: var(--wait); background: var(--wait); }
.c7 { fill: #d55e00; background: #d55e00; }
.m0 { fill: #0072b2; background: #0072b2; }
.m1 { fill: #56b4e9; background: #56b4e9; }
.m2 { fill: #e69f00; background: #e69f00; }
.m3 { fill: #009e73; background: #009e73; }
.m4 { fill: #cc79a7; background: #cc79a7; }
.m5 { fill: #999999; background: #999999; }
.m6 { fill: #8c6bb1; background: #8c6bb1; }
.m7 { fill: #d55e00; background: #d55e00; }
.chart .front { fill: none; stroke: #0072b2; stroke-width: 1.6; }
.slower { fill: #56b4e9; fill-opacity: 0.55; background: #56b4e9; }
.full { fill: #d55e00; fill-opacity: 0.45; background: #d55e00; }
#layouts td, #layouts th { text-align: left; white-space: normal; }
#memory table { font-size: 0.82rem; }
#front td:last-child, #front th:last-child { text-align: left; white-space: normal; }
)css";

} // namespace st

#endif // ST_REPORT_STYLE_H
