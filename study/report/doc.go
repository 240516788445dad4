// Package report shows what an experiment gave: tables for the terminal, plots as
// SVG, and a self-contained HTML page that can be sent to somebody.
package report
