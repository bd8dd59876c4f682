// What a pointer does in the picture, for each kind of annotation.
// Each tool has down, move, up (with a place in the image), hover, draw and, if it has a choice, remove; drop is for
// what was not meant, takeBack and leave are for what is not finished.

import { BoxTool, drawBoxes } from "./boxes.js";
import { MaskTool, StrokeTool } from "./brushes.js";
import { SeedTool, drawSeeds } from "./points.js";

// For what has no place in the picture.
class PanTool {
  constructor(page) {
    this.page = page;
    this.cursor = "grab";
    this.pans = true;
  }

  down() {}
  move() {}
  up() {}
}

class AreaTool extends PanTool {
  relabel(label) {
    this.page.panels.areas.reveal(label);
  }
}

// A tool for each kind of annotation: its key, name and hint, what a suggestion asks for, and, of marks that are
// drawn one by one, how.
export const TOOLS = {
  tags: {
    Tool: PanTool,
    key: "t",
    name: "Tags",
    hint: "Name everything of your classes that is in the picture: click the names, or press their keys.",
    task: (_, image) => (image?.labels.length ? "Tag what else is in it" : "Tag what is in it"),
  },
  areas: {
    Tool: AreaTool,
    key: "c",
    name: "Cover",
    hint: "Say how much of the picture each label covers, in percent, as you see it: a quarter more or less is fine. 0 says that it is not there.",
    task: (label) => `Say how much of it ${label} covers`,
  },
  boxes: {
    Tool: BoxTool,
    key: "b",
    name: "Boxes",
    hint: "Drag a box around each object of the chosen label. Click a box to move it or to give it another label.",
    task: (label) => `Draw a box around each ${label}`,
    draw: drawBoxes,
    describe: (box) => `box ${Math.round(box.right - box.left)} × ${Math.round(box.bottom - box.top)}`,
  },
  seeds: {
    Tool: SeedTool,
    key: "p",
    name: "Points",
    hint: "Click once on each object of the chosen label. Click a point again to move it or to give it another label.",
    task: (label) => `Click on each ${label}`,
    draw: drawSeeds,
    describe: (seed) => `point ${seed.x}, ${seed.y}`,
  },
  scribbles: {
    Tool: StrokeTool,
    key: "s",
    name: "Scribble",
    hint: "Draw strokes inside what has the chosen label. Of other places they say nothing, and all else that you have annotated counts, too.",
    task: (label) => `Draw a stroke over ${label}`,
  },
  mask: {
    Tool: MaskTool,
    key: "m",
    name: "Mask",
    hint: "Color all of the picture. Where nothing is colored, nothing is learned.",
    task: () => "Paint its mask",
  },
};
