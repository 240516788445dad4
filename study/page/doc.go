// Package page is the workbench as a page that a browser shows: the catalogue with a form that starts simulations, how
// far they are and what the network looks like meanwhile, results side by side, traces, the documentation. A Server has
// all of it below one handler. It needs no network beyond the browser's own connection, and lets in nobody who does not
// have its token.
package page
