#!/bin/sh
# Writes the files of this directory with openpyxl, pandas and LibreOffice, as a user's programs do. The tests read the
# committed files. Run this script only to add or change a file. It needs the packages python3-openpyxl,
# python3-pandas, libreoffice-calc-nogui and libreoffice-writer-nogui.
set -eu
cd "$(dirname "$0")"
to() { soffice --headless --convert-to "$@" >/dev/null 2>&1; }

/usr/bin/python3 make.py values
to ods values.xlsx && mv values.ods libreoffice.ods
to xlsx libreoffice.ods && mv libreoffice.xlsx values.xlsx && mv values.xlsx libreoffice.xlsx
to ods german.fods && to xlsx german.fods && mv german.xlsx libreoffice-german.xlsx && mv german.ods libreoffice-german.ods
to odt text.fodt && mv text.odt libreoffice.odt
to docx text.fodt && mv text.docx libreoffice.docx
to rtf text.fodt && mv text.rtf libreoffice.rtf
to epub text.fodt && mv text.epub libreoffice.epub
to pdf columns.fodt && mv columns.pdf libreoffice.pdf

# These files need the packages libreoffice-writer-nogui, chromium and fonts-dejavu.
for name in right-to-left vowels; do
	soffice --headless --infilter="HTML (StarWriter)" --convert-to pdf:writer_pdf_Export $name.html >/dev/null 2>&1
	mv $name.pdf libreoffice-$name.pdf
done
chromium --headless --no-sandbox --no-pdf-header-footer --print-to-pdf=chromium-right-to-left.pdf right-to-left.html
