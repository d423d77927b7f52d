// An option is looked for as it is spelled, --max-abstentions. To the search a leading dash means "without", so that
// it finds nothing; here every such word becomes "with max, with abstentions". Options stand in the text of pages:
// headings of the same word, such as those about votes, would come before the page of all options.
const post = Worker.prototype.postMessage
Worker.prototype.postMessage = function (message, ...more) {
  const asked = message?.data
  if (typeof asked !== "string") return post.call(this, message, ...more)
  const data = asked.replace(/(^|\s)--?([a-z][\w-]*)/gi, (_, gap, name) => gap + name.split("-").filter(Boolean).map(word => "+text:" + word).join(" "))
  return post.call(this, { ...message, data }, ...more)
}
