// Package docsite makes pages for a browser of the documentation, which is Markdown: a page for each file, with the
// list of all, and a search that needs no server, because its index is a script. A link that leads nowhere is an
// error. What Write writes is a folder of files; who has a server takes Files, or Page.Body for a frame of its own.
package docsite
