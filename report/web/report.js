"use strict";
(() => {
  // Zoom and hover for the pictures of loss over time. Without this script the
  // page shows the same pictures, whole.
  const NS = "http://www.w3.org/2000/svg";
  const data = JSON.parse(document.getElementById("ra-data").textContent);
  const make = (name, attrs, text) => {
    const e = document.createElementNS(NS, name);
    for (const k in attrs) e.setAttribute(k, attrs[k]);
    if (text !== undefined) e.textContent = text;
    return e;
  };
  const group = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

  class Picture {
    constructor(figure, d) {
      this.d = d;
      this.a = 0;
      this.b = d.range;
      this.figure = figure;
      this.stage = figure.querySelector(".stage");
      this.out = figure.querySelector(".readout");
      this.t0 = BigInt(d.t0);
      this.shift = BigInt(d.shift);
      this.svgs = [...figure.querySelectorAll("svg.ra-svg")];
      for (const l of d.lanes) {
        for (const h of l.holes) {
          h.from = h[0]; h.to = h[1]; h.lost = h[2]; h.n = h[3];
          h.lo = BigInt(h[4]); h.hi = h[5] === "" ? null : BigInt(h[5]); h.inferred = h[6] === 1;
        }
      }
      if (d.range > 0) {
        const tools = figure.querySelector(".tools");
        tools.hidden = false;
        tools.addEventListener("click", (e) => { if (e.target.dataset.do) this.act(e.target.dataset.do); });
        this.stage.addEventListener("keydown", (e) => this.key(e));
        this.stage.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
        this.stage.addEventListener("dblclick", (e) => { const p = this.point(e); if (p) this.zoom(0.5, p.t); });
        this.stage.addEventListener("pointerdown", (e) => this.grab(e));
        addEventListener("resize", () => { if (this.zoomed()) this.draw(); });
      }
      this.stage.addEventListener("pointermove", (e) => this.hover(e));
      this.stage.addEventListener("pointerleave", () => this.cross(null));
      const steps = d.lanes.some((l) => l.holes.length) ? ", n and p for the next and previous hole" : "";
      this.hint = d.range > 0 ? "Point at a lane to read it. Double-click, + and − zoom, dragging and the arrows move" + steps + ", 0 shows the whole." : "Point at a lane to read it.";
      this.out.textContent = this.hint;
    }
    zoomed() { return this.a > 0 || this.b < this.d.range; }
    svg() { return this.svgs.find((s) => s.getClientRects().length) || this.svgs[0]; }
    stamp(u) {
      const t = this.t0 + (BigInt(Math.round(u)) << this.shift);
      if (this.d.unit !== "s") return group(t);
      return (t / 1000000000n) + "." + String(t % 1000000000n).padStart(9, "0").replace(/0{1,3}$/, "");
    }
    // What is under the pointer: the time, and the lane if it is on one.
    point(e) {
      const s = this.svg(), m = s.getScreenCTM();
      if (!m) return null;
      const p = new DOMPoint(e.clientX, e.clientY).matrixTransform(m.inverse());
      const x0 = +s.dataset.x0, x1 = +s.dataset.x1;
      const t = this.a + (p.x - x0) / (x1 - x0) * (this.b - this.a);
      const per = (this.b - this.a) / (x1 - x0);
      let lane = null;
      for (const g of s.querySelectorAll(".ra-lane")) {
        const y = +g.dataset.y, h = +g.dataset.h;
        if (p.y >= y - 4 && p.y <= y + h + 4) lane = this.d.lanes[+g.dataset.lane];
      }
      return { x: p.x, t, per, lane, inside: p.x >= x0 && p.x <= x1, before: p.x < x0 };
    }
    hover(e) {
      if (this.dragging) return;
      const p = this.point(e);
      if (!p || !p.lane) { this.cross(null); return; }
      if (!p.inside) {
        const open = p.before ? p.lane.begin : p.lane.end;
        this.cross(null);
        if (open) this.say(p.lane.name + " · " + open);
        return;
      }
      this.cross(p.x);
      const near = p.lane.holes.filter((h) => h.to >= p.t - 2 * p.per && h.from <= p.t + 2 * p.per);
      let what = p.t >= p.lane.from && p.t <= p.lane.to && p.lane.held ? "recorded" : "nothing recorded";
      if (near.length) what = this.holes(near);
      else if (p.lane.begin && p.t < p.lane.from) what = p.lane.begin;
      else if (p.lane.end && p.t > p.lane.to) what = p.lane.end;
      this.say(p.lane.name + " · " + this.stamp(p.t) + " " + this.d.unit + " · " + what);
    }
    holes(hs) {
      let lo = 0n, hi = 0n, n = 0, from = Infinity, to = -Infinity, inferred = false;
      for (const h of hs) {
        lo += h.lo; n += h.n;
        hi = hi === null || h.hi === null ? null : hi + h.hi;
        from = Math.min(from, h.from); to = Math.max(to, h.to);
        inferred = inferred || h.inferred;
      }
      let c = hi === null ? (lo === 0n ? "an unknown number of" : "at least " + group(lo)) : lo === hi ? group(lo) : group(lo) + " to " + group(hi);
      c += lo === 1n && (hi === 1n || hi === null) ? " event lost" : " events lost";
      if (n > 1) c += " in " + group(n) + " holes";
      return c + " between " + this.stamp(from) + " and " + this.stamp(to) + " " + this.d.unit + (inferred ? " (place inferred)" : "");
    }
    say(s) { this.out.textContent = s; }
    cross(x) {
      const s = this.svg();
      let c = s.querySelector(".ra-cross");
      if (x === null) { if (c) c.remove(); return; }
      if (!c) { c = make("line", { class: "ra-cross" }); s.append(c); }
      const ticks = s.querySelector(".ra-ticks");
      c.setAttribute("x1", x); c.setAttribute("x2", x);
      c.setAttribute("y1", ticks.dataset.top); c.setAttribute("y2", ticks.dataset.y);
    }
    view(a, b) {
      const least = Math.min(this.d.range, 16), most = this.d.range;
      let w = Math.min(Math.max(b - a, least), most);
      a = Math.max(0, Math.min(a, most - w));
      this.a = a; this.b = a + w;
      this.draw();
    }
    zoom(f, at) {
      if (at === undefined) at = (this.a + this.b) / 2;
      this.view(at - (at - this.a) * f, at + (this.b - at) * f);
      this.where();
    }
    pan(f) { const w = this.b - this.a; this.view(this.a + f * w, this.b + f * w); this.where(); }
    where() { this.say("Shown: " + this.stamp(this.a) + " to " + this.stamp(this.b) + " " + this.d.unit + (this.zoomed() ? "" : ", the whole recording")); }
    act(what) {
      switch (what) {
        case "in": this.zoom(0.5); break;
        case "out": this.zoom(2); break;
        case "earlier": this.pan(-0.4); break;
        case "later": this.pan(0.4); break;
        case "whole": this.view(0, this.d.range); this.where(); break;
        case "next": this.jump(1); break;
        case "previous": this.jump(-1); break;
      }
    }
    key(e) {
      const k = { "+": "in", "=": "in", "-": "out", "ArrowLeft": "earlier", "ArrowRight": "later", "0": "whole", "n": "next", "p": "previous" }[e.key];
      if (!k || e.ctrlKey || e.metaKey || e.altKey) return;
      e.preventDefault();
      this.act(k);
    }
    wheel(e) {
      if (!e.ctrlKey) return; // the page scrolls as everywhere
      e.preventDefault();
      const p = this.point(e);
      if (p) this.zoom(e.deltaY < 0 ? 0.8 : 1.25, p.t);
    }
    grab(e) {
      if (e.button !== 0 || e.pointerType === "touch" || !this.zoomed()) return;
      const p = this.point(e);
      if (!p) return;
      const a = this.a, b = this.b, x = p.x;
      this.dragging = true;
      const move = (ev) => { const q = this.point(ev); if (q) { const dt = (x - q.x) * q.per; this.view(a + dt, b + dt); } };
      const up = () => { this.dragging = false; removeEventListener("pointermove", move); removeEventListener("pointerup", up); this.where(); };
      addEventListener("pointermove", move);
      addEventListener("pointerup", up);
    }
    // The next hole after the middle of what is shown, on any lane.
    jump(dir) {
      const at = this.at === undefined ? (dir > 0 ? -1 : Infinity) : this.at;
      let best = null, lane = null;
      for (const l of this.d.lanes) for (const h of l.holes) {
        const m = (h.from + h.to) / 2;
        if (dir > 0 ? m > at && (!best || m < best.m) : m < at && (!best || m > best.m)) { best = { h, m }; lane = l; }
      }
      if (!best) { this.say(dir > 0 ? "No later hole." : "No earlier hole."); return; }
      this.at = best.m;
      const w = Math.min(this.d.range, Math.max(8 * (best.h.to - best.h.from), this.d.range / 64, 64));
      this.view(best.m - w / 2, best.m + w / 2);
      this.say(lane.name + " · " + this.holes([best.h]));
    }
    draw() {
      for (const s of this.svgs) this.redraw(s);
    }
    redraw(s) {
      const zoomed = this.zoomed();
      for (const e of s.querySelectorAll(".ra-z")) e.remove();
      for (const e of s.querySelectorAll(".ra-data,.ra-open,.ra-tick")) e.style.display = zoomed ? "none" : "";
      if (!zoomed) return;
      const x0 = +s.dataset.x0, x1 = +s.dataset.x1, a = this.a, b = this.b;
      const X = (t) => x0 + (Math.min(Math.max(t, a), b) - a) / (b - a) * (x1 - x0);
      for (const g of s.querySelectorAll(".ra-lane")) {
        const l = this.d.lanes[+g.dataset.lane], y = +g.dataset.y, h = +g.dataset.h;
        const z = make("g", { class: "ra-z" });
        g.append(z);
        const box = (from, to, cls, least) => {
          if (to < a || from > b) return null;
          const xa = X(from), xb = Math.max(X(to), xa + least);
          const r = make("rect", { class: cls, x: xa.toFixed(2), y, width: (xb - xa).toFixed(2), height: h });
          z.append(r);
          return [xa, xb];
        };
        if (l.begin && l.held) box(0, l.from, "ra-area", 0);
        if (l.end && l.held) box(l.to, this.d.range, "ra-area", 0);
        if (l.held) {
          const at = box(l.from, l.to, "ra-kept", 1);
          if (at && l.vague) z.lastChild.style.fill = "url(#" + s.dataset.id + "-vague)";
        }
        const seen = l.holes.filter((o) => o.to >= a && o.from <= b);
        if (seen.length <= 64) {
          for (const o of seen) {
            const at = box(o.from, o.to, "ra-lost", 1.5);
            // Several holes in one: only the share of its time that is lost.
            if (at && o.n > 1 && o.to > o.from) z.lastChild.setAttribute("height", Math.max(1, h * Math.min(1, o.lost / (o.to - o.from))).toFixed(2));
            if (at && o.inferred) { box(o.from, o.to, "", 1.5); z.lastChild.style.fill = "url(#" + s.dataset.id + "-hatch)"; }
            if (!at || o.inferred || o.n > 1 || h < 14) continue;
            const label = o.hi === null ? (o.lo === 0n ? "?" : "≥ " + group(o.lo)) : o.lo === o.hi ? group(o.lo) : group(o.lo) + "–" + group(o.hi);
            if ((label.length + 1) * 6.4 <= at[1] - at[0]) z.append(make("text", { class: "ra-count", x: (at[0] + at[1]) / 2, y: y + h / 2 + 4, "text-anchor": "middle" }, label));
          }
        } else {
          this.columns(z, seen, X, x0, x1, y, h);
        }
      }
      this.ticks(s, X);
    }
    columns(z, seen, X, x0, x1, y, h) {
      const n = Math.floor((x1 - x0) / 2), w = (x1 - x0) / n, sum = new Float64Array(n);
      for (const o of seen) {
        const share = o.to > o.from ? o.lost / (o.to - o.from) : 1;
        const p = X(o.from), q = X(o.to);
        for (let i = Math.max(0, Math.floor((p - x0) / w)); i < n; i++) {
          const lo = x0 + i * w;
          if (lo > q) break;
          sum[i] += Math.max((Math.min(q, lo + w) - Math.max(p, lo)) / w * share, 0.02);
        }
      }
      let area = "", edge = "";
      for (let i = 0; i < n; i++) {
        if (!sum[i]) continue;
        const k = Math.max(1, Math.min(1, sum[i]) * h), l = (x0 + i * w).toFixed(2), r = (x0 + (i + 1) * w).toFixed(2);
        area += "M" + l + " " + y + "H" + r + "V" + (y + k).toFixed(2) + "H" + l + "Z";
        edge += "M" + l + " " + (y + k).toFixed(2) + "H" + r;
      }
      z.append(make("path", { class: "ra-area", d: area }), make("path", { class: "ra-area-edge", d: edge }));
    }
    ticks(s, X) {
      const g = s.querySelector(".ra-ticks"), y = +g.dataset.y, x0 = +s.dataset.x0, x1 = +s.dataset.x1;
      const z = make("g", { class: "ra-z" });
      g.append(z);
      const A = this.t0 + (BigInt(Math.floor(this.a)) << this.shift), B = this.t0 + (BigInt(Math.ceil(this.b)) << this.shift);
      const want = BigInt(Math.floor((x1 - x0) / 150) + 1);
      let step = 1n;
      for (let i = 0; (B - A) / step > want; i++) step = i % 3 === 1 ? step / 2n * 5n : step * 2n;
      let digits = 9, q = step;
      while (digits > 0 && q % 10n === 0n) { digits--; q /= 10n; }
      for (let t = (A + step - 1n) / step * step; t <= B; t += step) {
        const x = X(Number((t - this.t0) >> this.shift));
        z.append(make("path", { class: "ra-axis", d: "M" + x.toFixed(2) + " " + y + "V" + (y + 4) }));
        const text = this.d.unit !== "s" ? group(t) : (t / 1000000000n) + (digits ? "." + String(t % 1000000000n).padStart(9, "0").slice(0, digits) : "");
        z.append(make("text", { class: "ra-dim", x: x.toFixed(2), y: y + 15, "text-anchor": x - x0 < 30 ? "start" : x1 - x < 30 ? "end" : "middle" }, text));
      }
    }
  }
  for (const f of document.querySelectorAll("figure.loss")) new Picture(f, data[f.dataset.buffer]);
})();
