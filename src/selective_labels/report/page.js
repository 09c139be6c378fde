"use strict";
(() => {
  const text = document.getElementById("numbers").textContent;
  const acceptance = JSON.parse(text).acceptance;
  const models = (acceptance && acceptance.models) || [];
  const measures = Object.keys((acceptance && acceptance.human) || {});

  const moveMark = (mark, place, low, high, height) => {
    mark.setAttribute("x1", place);
    mark.setAttribute("x2", place);
    const known = low !== null && high !== null;
    mark.setAttribute("visibility", known ? "visible" : "hidden");
    if (!known) return;
    mark.setAttribute("y1", height(low));
    mark.setAttribute("y2", height(high));
  };

  const moveMarks = (chart, place, ends) => {
    const [bottom, top] = [Number(chart.dataset.low), Number(chart.dataset.high)];
    const height = (value) => `${(100 * (top - value)) / (top - bottom)}%`;
    const cursor = chart.querySelector(".cursor");
    cursor.setAttribute("x1", place);
    cursor.setAttribute("x2", place);
    moveMark(chart.querySelector(".mark.thin"), place, ends.ci_lower, ends.ci_upper, height);
    moveMark(chart.querySelector(".mark.thick"), place, ends.lower, ends.upper, height);
  };

  // Read formatted numbers from the table of all stops, so that they are formatted in one place only.
  const written = (panel, stop) => {
    const cells = panel.querySelector(".stops tbody").rows[stop].cells;
    return [...cells].map((cell) => cell.textContent.trim());
  };

  const show = (panel, model, stop) => {
    const point = model.points[stop];
    const place = `${100 * point.rate}%`;
    const [rate, ...ends] = written(panel, stop);
    const now = stop === model.start ? " (as now)" : "";
    panel.querySelector("output.rate").textContent = rate + now;
    panel.querySelector(".slider").setAttribute("aria-valuetext", rate + now);
    const said = measures.map((measure, column) => {
      const of = (kind) => panel.querySelector(`${kind}[data-measure="${measure}"]`);
      of(".identified").textContent = ends[2 * column];
      of(".confidence").textContent = `interval ${ends[2 * column + 1]}`;
      moveMarks(of("svg"), place, point[measure]);
      return `${of("svg").closest("figure").querySelector("h4").textContent}: ${ends[2 * column]}`;
    });
    panel.querySelector("output.said").textContent = `${panel.dataset.doing} ${rate}${now}. ${said.slice(0, 1).join("; ")}.`;
  };

  const panels = [...document.querySelectorAll(".explorer")];
  for (const panel of panels) {
    const model = models[Number(panel.dataset.model)];
    const slider = panel.querySelector(".slider");
    // A browser that restores the form after a reload moves the slider without firing an event.
    show(panel, model, Number(slider.value));
    slider.addEventListener("input", () => show(panel, model, Number(slider.value)));
  }

  const choices = [...document.querySelectorAll('.choice input[type="radio"]')];
  const choose = () => {
    const chosen = choices.find((choice) => choice.checked);
    for (const panel of panels) panel.hidden = chosen !== undefined && panel.dataset.model !== chosen.value;
  };
  for (const choice of choices) choice.addEventListener("change", choose);
  choose();

  document.getElementById("download").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = "numbers.json";
    link.click();
    URL.revokeObjectURL(link.href);
  });
})();
