// Package docsite makes pages for a browser of the documentation, which is Markdown: a page for each file, with the
// list of all, and a search that needs no server, because its index is a script. A link that leads nowhere is an
// error. The command docs writes it into a folder; a server takes Page.Body for a frame of its own.
package docsite
