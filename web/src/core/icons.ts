/** Paths of the icons, drawn in a 16 × 16 box with a round stroke of the text's colour. */
export const ICONS = {
  plus: "M8 3v10M3 8h10",
  close: "M4 4l8 8M12 4l-8 8",
  check: "M3 8.5l3.2 3.2L13 5",
  stop: "M4.5 4.5h7v7h-7z",
  send: "M8 13V3M3.8 7.2L8 3l4.2 4.2",
  down: "M8 3v10M3.8 8.8L8 13l4.2-4.2",
  chevron: "M4.5 6.5L8 10l3.5-3.5",
  copy: "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
  menu: "M2.5 4h11M2.5 8h11M2.5 12h11",
  gear: "M8 5.6a2.4 2.4 0 100 4.8 2.4 2.4 0 000-4.8zM8 1.8v1.9M8 12.3v1.9M1.8 8h1.9M12.3 8h1.9M3.6 3.6L5 5M11 11l1.4 1.4M3.6 12.4L5 11M11 5l1.4-1.4",
  search: "M7 2.5a4.5 4.5 0 100 9 4.5 4.5 0 000-9zM10.4 10.4l3.1 3.1",
  folder: "M1.8 12.5v-9h4.4l1.5 1.8h6.5v7.2z",
  edit: "M3 13l.6-2.8 7-7 2.2 2.2-7 7zM9.4 4.4l2.2 2.2",
  trash: "M2.8 4.3h10.4M6 4.3V2.5h4v1.8M4.2 4.3l.6 9.2h6.4l.6-9.2",
  archive: "M2 3h12v3H2zM3 6v7.2h10V6M6.3 8.8h3.4",
  retry: "M13 3.2v3.4H9.6M12.7 6.4A5.2 5.2 0 102.9 9.6",
  file: "M4 1.8h5l3.2 3.2v9.2H4zM9 1.8V5h3.2",
  bot: "M3 6h10v7H3zM8 6V3M5.8 9.2v.8M10.2 9.2v.8",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  warning: "M8 2.2l6.3 11.3H1.7zM8 6.6v3.2M8 11.7v.1",
  question: "M5.8 6a2.2 2.2 0 113.4 1.9c-.8.5-1.2.9-1.2 1.8M8 12v.1",
  info: "M8 1.8a6.2 6.2 0 100 12.4A6.2 6.2 0 008 1.8zM8 7.3v3.6M8 4.9V5",
  sun: "M8 5.2a2.8 2.8 0 100 5.6 2.8 2.8 0 000-5.6zM8 1.5v1.2M8 13.3v1.2M1.5 8h1.2M13.3 8h1.2M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9",
} as const;

export type IconName = keyof typeof ICONS;
