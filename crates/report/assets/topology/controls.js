/* The topology view's controls: time, play, what is shown, pointer and keys. */
Paceline.topology && (() => {
  const model = Paceline.topology, picture = Paceline.picture, detail = Paceline.detail;
  const { css, el, digits } = Paceline;
  const $ = (id) => document.getElementById(id);
  const view = $("topology"), stage = picture.canvas.parentNode, tip = $("topology-tip");
  const slider = $("topology-time"), play = $("topology-play"), select = $("topology-metric"), speed = $("topology-speed");
  const strip = $("topology-strip"), clock = $("topology-clock");
  const shown = ["state", "queue", "utilisation", "paused", "marks"].filter((name) => model.quantities[name]);
  const state = { frame: model.busiest, metric: shown[0] ?? null, hover: null, port: null, flow: null, path: [] };
  /* Frames in a second at normal speed: a whole run takes some ten seconds. */
  const PACE = Math.max(6, model.frames / 12);

  let waiting = false;
  const repaint = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      picture.paint(state);
      paintStrip();
    });
  };

  $("topology-tree").hidden = !model.quantities.state && !model.credits;
  $("topology-step").textContent = model.frames
    ? `Each step is ${model.duration(model.bin)}: the longest queue and the fullest buffer in it, ${model.quantities.state ? "a port's state at its end, " : ""}of all else the mean. A run keeps at most 512 such steps, so none is finer here; charts of sampled queues are.` : "";
  const seek = (frame) => {
    state.frame = Math.min(model.frames - 1, Math.max(0, Math.round(frame)));
    slider.value = state.frame;
    /* A frame is all of its time. */
    const text = [0, 1].map((i) => model.duration(model.timeOf(state.frame + i))).join(" to ");
    slider.setAttribute("aria-valuetext", text);
    clock.textContent = text;
    detail.setFrame(state.frame);
    if (!tip.hidden) describe();
    repaint();
  };

  const choose = (what) => {
    state.port = what?.port?.id ?? null;
    state.flow = what?.flow ?? null;
    state.path = what?.flow?.time?.data.filter((hop) => hop.ps[0] > 0).map((hop) => hop.port) ?? [];
    detail.show(what ?? {});
    repaint();
  };

  /* The strip: all that is queued, and how many ports are paused, over time. */
  const totals = ["queue", "paused"].filter((name) => model.quantities[name])
    .map((name) => ({ name, values: model.quantities[name].totals() }))
    .filter(({ values }) => values.some((v) => v > 0));
  if (!totals.length && model.quantities.utilisation) {
    totals.push({ name: "utilisation", values: model.quantities.utilisation.totals() });
  }
  const TOTALS = {
    queue: (v) => `${model.quantities.queue.text(v)} in all queues`,
    paused: (v) => `${digits(v)} ports ${model.credits ? "without credits" : "paused"}`,
    utilisation: (v) => `${digits(v)} ports sending`,
  };
  const band = 34;
  const paintStrip = () => {
    if (!model.frames) return;
    const ratio = devicePixelRatio || 1, width = strip.clientWidth, height = band * totals.length;
    if (strip.width !== Math.round(width * ratio)) {
      strip.width = Math.round(width * ratio);
      strip.height = Math.round(height * ratio);
      strip.style.height = height + "px";
    }
    const pen = strip.getContext("2d"), colors = picture.colors();
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const x = (frame) => frame / model.frames * width;
    if (state.flow) {
      const from = (model.micros(state.flow.start_ps) - model.timeOf(0)) / model.bin;
      const length = state.flow.fct_ps === null ? model.frames : state.flow.fct_ps / 1e6 / model.bin;
      pen.fillStyle = colors.pick;
      pen.globalAlpha = 0.16;
      pen.fillRect(x(Math.max(0, from)), 0, Math.max(1.5, x(length)), height);
      pen.globalAlpha = 1;
    }
    totals.forEach(({ name, values }, i) => {
      const base = (i + 1) * band - 1, most = Paceline.most(values);
      pen.beginPath();
      pen.moveTo(0, base);
      values.forEach((v, frame) => {
        const y = base - v / most * (band - 6);
        pen.lineTo(x(frame), y);
        pen.lineTo(x(frame + 1), y);
      });
      pen.lineTo(width, base);
      pen.fillStyle = name === "paused" ? colors.pause : colors.ramp[12];
      pen.fill();
    });
    pen.fillStyle = colors.ink;
    pen.fillRect(Math.round(x(state.frame + 0.5)) - 0.75, 0, 1.5, height);
    $("topology-totals").textContent = totals.map(({ name, values }) => TOTALS[name](values[state.frame])).join(" · ");
  };
  const scrub = (event) => {
    const { left, width } = strip.getBoundingClientRect();
    seek(Math.floor((event.clientX - left) / width * model.frames));
  };
  strip.addEventListener("pointerdown", (event) => {
    stop();
    strip.setPointerCapture(event.pointerId);
    scrub(event);
  });
  strip.addEventListener("pointermove", (event) => { if (event.buttons) scrub(event); });

  /* Play */
  let playing = false, last = 0, exact = 0;
  const stop = () => {
    playing = false;
    play.textContent = "▶ Play";
    play.setAttribute("aria-pressed", "false");
  };
  const step = (now) => {
    if (!playing) return;
    exact += Math.min(0.2, (now - last) / 1000) * PACE * Number(speed.value);
    last = now;
    if (exact >= model.frames - 1) {
      seek(model.frames - 1);
      stop();
      return;
    }
    if (Math.floor(exact) !== state.frame) seek(Math.floor(exact));
    requestAnimationFrame(step);
  };
  const toggle = () => {
    if (playing) return stop();
    if (state.frame >= model.frames - 1) seek(0);
    playing = true;
    exact = state.frame;
    last = performance.now();
    play.textContent = "❚❚ Pause";
    play.setAttribute("aria-pressed", "true");
    requestAnimationFrame(step);
  };
  play.addEventListener("click", toggle);
  slider.addEventListener("input", () => { stop(); seek(Number(slider.value)); });

  /* What is shown */
  const legend = () => {
    const quantity = model.quantities[state.metric];
    $("topology-legend").hidden = !quantity;
    if (!quantity) return;
    const colors = picture.colors();
    if (quantity.name === "state") {
      const stops = colors.states.map((color, i) => `${color} ${i * 25}% ${i * 25 + 25}%`);
      $("topology-ramp").style.background = `linear-gradient(to right, ${stops.join(", ")})`;
      $("topology-ticks").replaceChildren(...model.states.map((name) => el("span", {}, name)));
      return;
    }
    const { from } = picture.scaleOf(quantity);
    $("topology-ramp").style.background = `linear-gradient(to right, ${colors.ramp.join(", ")})`;
    $("topology-ticks").replaceChildren(...[0, 0.25, 0.5, 0.75, 1].map((t) => el("span", {}, quantity.text(from(t)))));
  };
  const METRICS = { state: "State (congestion tree)", queue: "Longest queue", utilisation: "Utilisation", paused: model.credits ? "Time without credits (congestion tree)" : "Time paused", marks: "ECN marks" };
  select.replaceChildren(...shown.map((name) => el("option", { value: name }, METRICS[name])));
  if (state.metric) select.value = state.metric;
  const measure = (name) => {
    state.metric = name;
    select.value = name;
    legend();
    repaint();
  };
  select.addEventListener("change", () => measure(select.value));

  /* Pointer: values on hover, a click chooses, a drag moves, the wheel magnifies. */
  let pointer = null, grabbed = null;
  const valuesOf = (id) => shown.map((name) => {
    const quantity = model.quantities[name];
    return el("div", { class: "tip-row" }, METRICS[name].replace(/^[LTUS]/, (c) => c.toLowerCase()), el("b", {}, quantity.text(quantity.of(id, state.frame))));
  });
  const aboutNode = (node) => {
    const lines = [el("div", { class: "tip-x" }, `${node.ports.length} link${node.ports.length === 1 ? "" : "s"}`)];
    const { buffer, queue } = model.quantities;
    if (!node.host && buffer) lines.push(el("div", { class: "tip-row" }, "buffer in use", el("b", {}, buffer.text(buffer.of(node.id, state.frame)))));
    if (queue && node.ports.length) {
      const most = Paceline.most(node.ports.map((id) => queue.of(id, state.frame)));
      lines.push(el("div", { class: "tip-row" }, "longest queue", el("b", {}, queue.text(most))));
    }
    const tier = model.tiers[node.of];
    if (tier) lines.push(...tier.own.map((own) => el("div", { class: "tip-x" }, own)));
    return [el("b", {}, model.nodeName(node.id) + (node.name ? ` (${node.id})` : "")), ...lines];
  };
  const aboutCause = (port) => {
    const cause = model.causeOf(port, state.frame);
    return cause ? [el("div", { class: "tip-row" }, model.credits ? "waits for room at" : "paused for", el("b", {}, `${model.nodeName(cause.from)} → ${model.nodeName(cause.to)}`))] : [];
  };
  const aboutPort = (port) => [port, model.ports[port.back]].flatMap((one, i) => [
    el("div", i ? { class: "tip-x" } : {}, el(i ? "span" : "b", {}, `${model.nodeName(one.from)} → ${model.nodeName(one.to)}`)),
    ...valuesOf(one.id), ...aboutCause(one)]);
  const describe = () => {
    const found = pointer && !grabbed?.moved ? picture.hit(pointer.x, pointer.y) : null;
    const hover = found?.port?.id ?? null;
    stage.classList.toggle("over", Boolean(found));
    if (hover !== state.hover) {
      state.hover = hover;
      repaint();
    }
    tip.hidden = !found;
    if (!found) return;
    tip.replaceChildren(...(found.port ? aboutPort(found.port) : aboutNode(found.node)));
    const { width, height } = picture.size();
    tip.style.left = (pointer.x > width / 2 ? pointer.x - tip.offsetWidth - 14 : pointer.x + 14) + "px";
    tip.style.top = Math.max(0, Math.min(height - tip.offsetHeight, pointer.y - tip.offsetHeight / 2)) + "px";
  };
  const where = (event) => {
    const { left, top } = picture.canvas.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  stage.addEventListener("pointermove", (event) => {
    pointer = where(event);
    if (grabbed) {
      const [dx, dy] = [pointer.x - grabbed.x, pointer.y - grabbed.y];
      if (grabbed.moved || Math.hypot(dx, dy) > 4) {
        picture.pan(dx, dy);
        grabbed = { ...pointer, moved: true };
        stage.classList.add("grabbed");
        repaint();
      }
    }
    describe();
  });
  stage.addEventListener("pointerleave", () => { pointer = null; describe(); });
  stage.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.target !== picture.canvas) return;
    grabbed = { ...where(event), moved: false };
    if (event.pointerType !== "touch") picture.canvas.setPointerCapture(event.pointerId);
  });
  addEventListener("pointerup", (event) => {
    if (!grabbed) return;
    const { moved } = grabbed;
    grabbed = null;
    stage.classList.remove("grabbed");
    if (moved) return;
    const { x, y } = where(event), found = picture.hit(x, y);
    const port = found?.port ?? (found?.node.ports.length === 1 ? model.ports[found.node.ports[0]] : null);
    choose(port ? { port } : null);
  });
  addEventListener("pointercancel", () => { grabbed = null; });
  const magnify = (factor, at) => {
    const { width, height } = picture.size();
    const { x, y } = at ?? (state.port === null ? { x: width / 2, y: height / 2 } : picture.middle(state.port));
    picture.magnify(factor, x, y);
    repaint();
  };
  /* The page scrolls with the wheel unless the view was clicked, or a key says otherwise. */
  stage.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== picture.canvas) return;
    event.preventDefault();
    magnify(Math.exp(-event.deltaY / 300), where(event));
    describe();
  }, { passive: false });
  stage.addEventListener("dblclick", (event) => magnify(2, where(event)));
  const fit = () => { picture.whole(); repaint(); };
  $("topology-in").addEventListener("click", () => magnify(1.6));
  $("topology-out").addEventListener("click", () => magnify(1 / 1.6));
  $("topology-fit").addEventListener("click", fit);

  /* Keys, while the view has the focus or the pointer is over it. */
  const KEYS = {
    " ": toggle,
    ArrowRight: (event) => { stop(); seek(state.frame + (event.shiftKey ? 10 : 1)); },
    ArrowLeft: (event) => { stop(); seek(state.frame - (event.shiftKey ? 10 : 1)); },
    Home: () => { stop(); seek(0); },
    End: () => { stop(); seek(model.frames - 1); },
    "+": () => magnify(1.6),
    "-": () => magnify(1 / 1.6),
    0: fit,
    Escape: () => choose(null),
  };
  document.addEventListener("keydown", (event) => {
    const target = event.target;
    if (!view.contains(target) && !view.matches(":hover")) return;
    if (target.matches("select, button, input:not([type=range]), summary, a") && event.key !== "Escape") return;
    if (event.altKey || event.ctrlKey || event.metaKey || !KEYS[event.key]) return;
    if (!model.frames && !["+", "-", "0", "Escape"].includes(event.key)) return;
    event.preventDefault();
    KEYS[event.key](event);
  });

  /* For tests: what is shown, and where. */
  window.paceline = Object.freeze({
    frame: () => state.frame,
    frames: () => model.frames,
    metric: () => state.metric,
    portAt: (name) => {
      const port = model.byName.get(name);
      return port ? { ...picture.middle(port.id), id: port.id } : null;
    },
    valueOf: (name, metric, frame) => {
      const port = model.byName.get(name), quantity = model.quantities[metric];
      return port && quantity && frame >= 0 && frame < model.frames ? quantity.of(port.id, frame) : null;
    },
  });

  view.classList.toggle("still", !model.frames);
  slider.max = Math.max(0, model.frames - 1);
  detail.start({ seek: (frame) => { stop(); seek(frame); }, choose });
  const layOut = () => {
    picture.resize();
    detail.fit();
    repaint();
  };
  Paceline.onTheme(() => {
    picture.readColors();
    layOut();
    legend();
    if (state.port !== null) detail.show({ port: model.ports[state.port] });
    picture.paint(state);
    paintStrip();
  });
  addEventListener("resize", layOut);
  /* At first: the moment with the most to see, and the port that it is about. */
  if (model.frames) {
    seek(state.frame);
    const quantity = model.quantities[shown[0]];
    const most = model.ports.reduce((best, port) => quantity.of(port.id, state.frame) > quantity.of(best.id, state.frame) ? port : best);
    choose({ port: most });
  }
})();
