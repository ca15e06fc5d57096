"""The page's style sheet: one for light and dark, colours of Okabe and Ito (safe for the colour-blind)."""

CSS = """
:root{color-scheme:light dark;--page:#fbfaf7;--card:#fff;--ink:#1d2227;--soft:#5b646d;--rule:#dfe1dc;--row:#f4f3ee;
--turn:#0072b2;--tool:#e69f00;--failed:#d55e00;--compaction:#cc79a7;--human:#8a4f9e;--life:#b9bfc4;--critical:#1d2227;
--spawn:#00785a;--return:#4b86ad;--message:#b0578a;--s0:#0072b2;--s1:#d55e00;--s2:#00785a;--s3:#b0578a;--s4:#8a6d00}
@media(prefers-color-scheme:dark){:root{--page:#14171a;--card:#1b1f23;--ink:#e8e6e1;--soft:#a3abb3;--rule:#343a40;
--row:#20252a;--turn:#56b4e9;--tool:#e69f00;--failed:#ff7a3d;--compaction:#e29cc4;--human:#c49ad6;--life:#59616a;
--critical:#f5f3ee;--spawn:#2fc79b;--return:#8cc6ea;--message:#e29cc4;--s0:#56b4e9;--s1:#ff7a3d;--s2:#2fc79b;
--s3:#e29cc4;--s4:#f0e442}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",
Roboto,sans-serif}
main,header,footer{max-width:1240px;margin:0 auto;padding:0 24px}
header{padding-top:36px}
h1{font-size:1.75rem;line-height:1.25;margin:0 0 .3rem;letter-spacing:-.01em}
h2{font-size:1.22rem;margin:0 0 .2rem}
h3{font-size:1rem;margin:1.4rem 0 .4rem}
p{margin:.3rem 0 .9rem;max-width:78ch}
.eyebrow{color:var(--soft);font-size:.85rem;margin:0 0 .5rem;overflow-wrap:anywhere}
.lead{font-size:1.18rem;max-width:72ch}
.soft,.left-out{color:var(--soft)}
.left-out::before{content:"Not all is drawn: "}
section{background:var(--card);border:1px solid var(--rule);border-radius:10px;padding:20px 22px;margin:20px 0}
.stats{display:grid;grid-template-columns:repeat(auto-fit,minmax(132px,1fr));gap:14px;margin:18px 0 4px;padding:0}
.stats div{border-left:3px solid var(--turn);padding:0 0 0 10px}
.stats dt{color:var(--soft);font-size:.82rem}
.stats dd{margin:0;font-size:1.35rem;font-weight:600;font-variant-numeric:tabular-nums}
.wide{overflow-x:auto;margin:0 -4px;padding:0 4px}
svg{display:block;height:auto;max-width:100%;min-width:820px}
svg text{font-family:inherit;fill:var(--ink);font-size:12px}
svg .note,svg .tick{fill:var(--soft);font-size:11px}
svg .tick{text-anchor:middle;font-variant-numeric:tabular-nums}svg .tick.right{text-anchor:end}
svg .name{font-weight:600;font-size:12.5px}
svg .axis-name{text-anchor:middle;fill:var(--soft)}
svg .series-name{font-weight:600;font-variant-numeric:tabular-nums}
.hover{fill:transparent}.stripe{fill:var(--row)}
.grid{stroke:var(--rule);stroke-width:1}.axis{stroke:var(--soft);stroke-width:1}
.life{stroke:var(--life);stroke-width:1.5}
.turn{fill:var(--turn)}.tool{fill:var(--tool)}.failed{fill:var(--failed);stroke:var(--ink);stroke-width:1}
.compaction{fill:var(--compaction)}.human{fill:var(--human)}
.decision{fill:var(--spawn)}.aggregate{fill:var(--return)}
.stop{fill:var(--card);stroke:var(--critical);stroke-width:2}
.critical{stroke:var(--critical);stroke-width:3}.critical.waiting{stroke-width:1.5;stroke-dasharray:3 3}
.riser{stroke:var(--critical);stroke-width:1.2;opacity:.75}
.arrow path{fill:none;stroke-width:1.3}
.spawn path{stroke:var(--spawn)}.return path{stroke:var(--return)}.return .wire{stroke-dasharray:5 3}
.message path{stroke:var(--message)}.message .wire{stroke-dasharray:1.5 3}
.undelivered path,.unread path{stroke:var(--failed);stroke-width:1.8}
.unread .wire{stroke-width:1.3;stroke-dasharray:5 3}
.series{fill:none;stroke-width:2.2;stroke-linejoin:round}
.level{stroke-width:1.3;stroke-dasharray:3 4;opacity:.9}.top{stroke:var(--ink);stroke-width:1}
.leader{stroke-width:1;opacity:.5}
.s0{stroke:var(--s0)}.s1{stroke:var(--s1)}.s2{stroke:var(--s2)}.s3{stroke:var(--s3)}.s4{stroke:var(--s4)}
.dot.s0{fill:var(--s0)}.dot.s1{fill:var(--s1)}.dot.s2{fill:var(--s2)}.dot.s3{fill:var(--s3)}.dot.s4{fill:var(--s4)}
.legend{display:flex;flex-wrap:wrap;gap:6px 18px;margin:8px 0 0;padding:0;list-style:none;
font-size:.85rem;color:var(--soft)}
.legend li{display:flex;align-items:center;gap:7px}
.legend svg{min-width:0;flex:none}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.93rem}
caption{text-align:left;color:var(--soft);font-size:.85rem;padding:0 0 6px}
th,td{padding:5px 14px 5px 0;border-bottom:1px solid var(--rule);text-align:left;vertical-align:top}
thead th{color:var(--soft);font-weight:600;font-size:.85rem;vertical-align:bottom}
tbody th{font-weight:500}
td.n,th.n{text-align:right;white-space:nowrap}
tr.best td,tr.best th{font-weight:700}
td .soft{font-size:.85em;font-weight:400}
.tree,.tree ul{list-style:none;margin:0;padding:0}
.tree ul{margin-left:9px;padding-left:18px;border-left:1.5px solid var(--rule)}
.tree li{padding:3px 0;break-inside:avoid}
.tree>li>ul{columns:2 440px;column-gap:40px}
.tree .who{font-weight:600}
.badge{display:inline-block;border:1px solid currentColor;border-radius:9px;padding:0 7px;font-size:.75rem;
line-height:1.35;color:var(--soft);white-space:nowrap}
.badge.bad{color:var(--failed)}
.contents li{padding:2px 0;overflow-wrap:anywhere}.contents a{color:var(--turn)}
.columns{display:grid;grid-template-columns:repeat(auto-fit,minmax(340px,1fr));gap:8px 40px}
details{margin:.8rem 0 0}summary{cursor:pointer;color:var(--soft)}
footer{color:var(--soft);font-size:.85rem;padding-bottom:40px}
@media(max-width:640px){main,header,footer{padding-left:12px;padding-right:12px}section{padding:14px}}
@media print{section{break-inside:avoid;border-color:#bbb}}
"""
