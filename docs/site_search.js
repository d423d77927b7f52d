// An option is looked for as it is spelled, --max-abstentions. To the search a leading dash means "without", so that
// it finds nothing; here every such word becomes "with max, with abstentions".
const post = Worker.prototype.postMessage
Worker.prototype.postMessage = function (message, ...more) {
  const asked = message?.data
  if (typeof asked !== "string") return post.call(this, message, ...more)
  const data = asked.replace(/(^|\s)--?([a-z][\w-]*)/gi, (_, gap, name) => gap + name.split("-").filter(Boolean).map(word => "+" + word).join(" "))
  return post.call(this, { ...message, data }, ...more)
}
