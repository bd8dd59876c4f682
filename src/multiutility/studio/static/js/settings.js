// Kept from picture to picture; as long as nobody chooses a size, the brush has the usual one of each picture.
export const settings = { tool: "tags", label: null, level: 2, opacity: 0.55, brush: null };
