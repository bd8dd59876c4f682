// Kept from picture to picture; as long as nobody chooses a size, the brush has the usual one of each picture.
export const settings = {
  tool: "tags",
  label: null,
  ways: { scribbles: "brush", mask: "regions" },
  level: 2,
  opacity: 0.55,
  brush: null,
  prediction: false, // what the model says is seen beneath what is painted
  undo: null, // the picture that is opened to undo what was last changed in it
};
