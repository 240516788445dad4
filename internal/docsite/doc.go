// Package docsite converts the Markdown documentation to pages for a browser: a page for each file, with the list of
// all pages and a search. The search needs no server, because its index is a script. A broken link is an error. The
// command docs writes the site into a folder; a server embeds Page.Body in its own frame.
package docsite
