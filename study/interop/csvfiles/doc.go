// Package csvfiles writes results as files of CSV, for pandas, R, gnuplot and spreadsheets: the numbers of tables, and
// with a row each the flows, the values over time and those of distributions.
package csvfiles
