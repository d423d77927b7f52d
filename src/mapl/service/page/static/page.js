// What htmx does not do: an answer belongs to the row that was asked, errors stand where one looks, files, history.
"use strict";
(() => {
  const one = (id) => document.getElementById(id);
  const made = (name, words, style) => {
    const element = document.createElement(name);
    element.textContent = words;
    if (style) element.className = style;
    return element;
  };
  const say = (place, words) => {
    const refusal = made("p", words, "refusal");
    refusal.setAttribute("role", "alert");
    place.replaceChildren(refusal);
    refusal.scrollIntoView({ block: "nearest" });
  };
  const UNREACHED = "The server cannot be reached, so it is not known whether this was answered. Ask again: what was answered is free.";
  const SIGNED_OUT = "You are not signed in any more, and nothing was asked. Load this page again to sign in.";

  const words = (status, text) => {
    if (status === 401) return SIGNED_OUT;
    try {
      return JSON.parse(text).detail;
    } catch {
      return `The server refused this (status ${status}); nothing was shown. Try again later.`;
    }
  };

  // Errors: the server's own words where they are a part of the page, else ours, in the part that was to be renewed.
  const place_of = (target) => {
    if (target.id === "budget") return one("notice");
    return target.classList.contains("errors") ? target : target.querySelector(".errors") || target;
  };
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr, target } = event.detail;
    if (xhr.status >= 400 && (xhr.getResponseHeader("content-type") || "").startsWith("text/html")) {
      event.detail.shouldSwap = true;
    } else if (xhr.status >= 400) {
      say(place_of(target), words(xhr.status, xhr.responseText));
    } else if (target.id === "budget") {
      one("notice").replaceChildren();
    }
  });
  for (const name of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(name, (event) => {
      const target = event.detail.target;
      if (target.id !== "budget") say(place_of(target), UNREACHED);
      else say(one("notice"), "The server cannot be reached; what is shown below may be old.");
    });
  }

  // One question: what stands in the fields is not what was answered as soon as anything is changed.
  const form = one("ask"), answer = one("answer");
  let asked = 0;
  if (form && answer) {
    const clear = () => {
      asked += 1;
      answer.replaceChildren();
    };
    form.addEventListener("input", clear);
    form.addEventListener("htmx:beforeRequest", (event) => {
      clear();
      event.detail.xhr.asked = asked;
      answer.replaceChildren(made("p", "Asking …", "waits"));
    });
    document.addEventListener("htmx:beforeSwap", (event) => {
      if (event.detail.target !== answer) return;
      if (event.detail.xhr.status < 400) remember(event.detail.xhr.responseText);
      // The fields were changed while it was answered: it stands in the history, with its row.
      if (event.detail.xhr.asked !== undefined && event.detail.xhr.asked !== asked) event.detail.shouldSwap = false;
    });
  }

  // History: rows and answers of this tab and this key, in the browser alone.
  const MOST = 50;
  const where = `mapl asked ${one("main")?.dataset.caller ?? ""}`;
  const history = () => JSON.parse(sessionStorage.getItem(where) || "[]");
  const remember = (text) => {
    const shown = new DOMParser().parseFromString(text, "text/html");
    const reply = shown.querySelector(".reply");
    if (!reply) return;
    const row = [...shown.querySelectorAll(".asked > div")].map((cell) => [...cell.children].map((part) => part.textContent));
    sessionStorage.setItem(where, JSON.stringify([{ label: reply.dataset.label ?? null, row }, ...history()].slice(0, MOST)));
    show_history();
  };
  const show_history = () => {
    const place = one("asked");
    if (!place) return;
    const kept = history();
    place.hidden = kept.length === 0;
    place.querySelector("tbody").replaceChildren(...kept.map(({ label, row }) => {
      const line = document.createElement("tr"), head = document.createElement("th");
      head.scope = "row";
      head.append(label === null ? made("span", "No answer", "none") : made("strong", label));
      line.append(head, made("td", row.map(([name, cell]) => `${name} ${cell}`).join(", ")));
      return line;
    }));
  };
  show_history();
  one("sign-out")?.addEventListener("submit", () => sessionStorage.clear());
  if (answer?.querySelector(".reply")) remember(answer.innerHTML);

  // Files: looked at first, asked when the caller agrees, and given back with two more columns.
  const file = one("file"), told = one("file-reply");
  let text = null, name = "";
  const send = async (path) => {
    const reply = await fetch((document.body.dataset.root || "") + path, { method: "POST", body: text, headers: { "Content-Type": "text/csv", "HX-Request": "true" } });
    return [reply, await reply.text()];
  };
  const attempt = async (work) => {
    try {
      await work();
    } catch {
      say(told, UNREACHED);
    }
  };
  file?.addEventListener("click", () => (file.value = "")); // so that the same file can be chosen again
  file?.addEventListener("change", () => attempt(async () => {
    told.replaceChildren();
    if (!file.files.length) return;
    name = file.files[0].name;
    text = await file.files[0].text();
    told.replaceChildren(made("p", "Looking at the file …", "waits"));
    const [reply, said] = await send("/page/file/look");
    if ((reply.headers.get("content-type") || "").startsWith("text/html")) told.innerHTML = said;
    else say(told, words(reply.status, said));
  }));
  told?.addEventListener("click", (event) => {
    if (event.target.matches("[data-drop-file]")) {
      file.value = "";
      told.replaceChildren();
    }
    if (!event.target.matches("[data-ask-file]")) return;
    attempt(async () => {
      told.replaceChildren(made("p", "Asking all rows …", "waits"));
      const [reply, said] = await send("/page/file/ask");
      document.body.dispatchEvent(new Event("asked"));
      if (!reply.ok) return say(told, words(reply.status, said));
      const answers = JSON.parse(said).answers;
      const count = (status) => answers.filter((one) => one.status === status).length;
      const link = made("a", `Save ${name.replace(/(\.csv)?$/i, "-answers.csv")}`);
      link.href = URL.createObjectURL(new Blob([with_answers(text, answers)], { type: "text/csv" }));
      link.download = name.replace(/(\.csv)?$/i, "-answers.csv");
      const sum = `${count("answered")} answered, ${count("abstained")} without an answer, ${count("not asked")} not asked. `;
      const line = made("p", sum, "fine");
      line.append(link);
      told.replaceChildren(line);
    });
  });

  // A record ends at a line break outside of quotes; empty lines are none, as the server reads them.
  const records = (content) => {
    const found = [];
    let start = 0, quoted = false, begins = true; // whether a cell begins here: only there a quote opens one
    for (let i = 0; i <= content.length; i++) {
      const sign = content[i];
      if (quoted && sign === '"') quoted = content[i + 1] === '"' && Boolean(++i);
      else if (sign === '"' && begins) quoted = true;
      else if (i === content.length || (!quoted && (sign === "\n" || sign === "\r"))) {
        if (i > start) found.push(content.slice(start, i));
        start = i + 1;
      }
      begins = !quoted && (sign === "," || sign === "\n" || sign === "\r");
    }
    return found;
  };
  const cell = (value) => (value === null ? "" : /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const with_answers = (content, answers) => {
    const [head, ...rows] = records(content);
    return [`${head},answer,status`, ...rows.map((row, i) => `${row},${cell(answers[i].label)},${answers[i].status}`), ""].join("\r\n");
  };

  // Copying: by the clipboard where the browser has one, else what is to be copied is marked.
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const source = one(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(source);
      button.textContent = document.execCommand("copy") ? "Copied" : "Marked: copy it by hand";
    }
  });
})();
