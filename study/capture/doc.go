// Package capture writes traces as pcapng and Parquet and reads them again, and pcapng files of
// others. It has what needs libraries; events and the text form are in package trace.
package capture
