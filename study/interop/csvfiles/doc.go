// Package csvfiles writes results as CSV files for pandas, R, gnuplot and spreadsheets: the values of tables, and one
// row per flow, per value over time and per value of a distribution.
package csvfiles
