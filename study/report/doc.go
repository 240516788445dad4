// Package report presents the results of an experiment: tables for the terminal, plots as SVG, and a self-contained
// HTML page.
package report
