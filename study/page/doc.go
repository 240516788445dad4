// Package page implements the workbench, a web page: the catalogue with a form that starts simulations, their
// progress and the state of the network, results and comparisons, traces, and the documentation. A Server serves all
// of it by one handler. It needs no network apart from the browser's connection, and answers only requests with its
// token.
package page
