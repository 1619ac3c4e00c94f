// Package read reads short texts in English and French, such as people write to a business: the words that they are
// about, and values such as names, days, times, numbers and addresses. It works by fixed lists and regular expressions,
// so the same text always reads the same. It knows nothing of models, tools or conversations.
//
// Many functions take the words of a text, as [Words] splits it, so that callers split it only once.
package read
