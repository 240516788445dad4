// Package parquet writes tables of results and traces as Parquet files, and reads traces. weir/app/parquet links it
// into a program, as results.ParquetFiles.
package parquet
