// dom.js - elements. Values of the API become text nodes or attributes, and never HTML.

/** @param attributes by name; `on`: handlers by event @param children elements, or text */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (name === "on") for (const [event, handler] of Object.entries(value)) element.addEventListener(event, handler);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined && value !== null) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Changes no node that has the text already, so that selections and focus stay. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Terms and their values; in() is their place, set() takes {term: value}. */
export function figures() {
  const list = make("dl", { class: "figures" });
  const places = new Map();
  return {
    element: list,
    set(values) {
      for (const [term, value] of Object.entries(values)) {
        if (!places.has(term)) {
          const place = make("dd");
          places.set(term, place);
          list.append(make("div", {}, make("dt", {}, term), place));
        }
        const { text, kind } = typeof value === "object" && value !== null ? value : { text: value };
        setText(places.get(term), String(text));
        places.get(term).className = kind ?? "";
      }
    },
  };
}

/** A list of lines of text, hidden while there is none. */
export function lines(title, kind = "") {
  const list = make("ul");
  const element = make("div", { class: `lines ${kind}`, hidden: true }, make("h3", {}, title), list);
  return {
    element,
    set(texts) {
      element.hidden = texts.length === 0;
      while (list.children.length > texts.length) list.lastChild.remove();
      texts.forEach((text, place) => {
        if (place >= list.children.length) list.append(make("li"));
        setText(list.children[place], text);
      });
    },
  };
}

export function link(view, argument, text, filter = "") {
  const place = argument ? `/${encodeURIComponent(argument)}` : "";
  return { text, href: `#/${view}${place}${filter ? `?filter=${encodeURIComponent(filter)}` : ""}` };
}
