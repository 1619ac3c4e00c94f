// Package read reads short texts in English and French, such as people write to a business. It finds their subject
// words, and values such as names, dates, times, numbers and addresses. It uses fixed lists and regular expressions, so
// the same text always gives the same result. It depends on no models, tools or conversations.
//
// Many functions take the words of a text, as [Words] splits it, so that callers split it only once.
package read
