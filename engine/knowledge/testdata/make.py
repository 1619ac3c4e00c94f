"""Writes the workbooks of this directory: openpyxl.xlsx and pandas.xlsx. make.sh writes the others with LibreOffice."""
import datetime as dt
import sys

import openpyxl
import pandas as pd
from openpyxl.styles import Font

wb = openpyxl.Workbook()
ws = wb.active
ws.title = "Prices"
ws["A1"] = "Price list 2026"
ws.merge_cells("A1:E1")
ws["A2"] = "Valid from March"
ws.append(["Category", "Article", "Price", "VAT", "Cost"])
ws.append(["Kitchen", "Kettle", 49.9, 0.19, 5])
ws.append([None, "Secret", 2, 0.19, 1])
ws.append([None, "Lamp", 1234.5, 0.07, 3])
ws.merge_cells("A4:A6")
for row in (4, 5, 6):
    ws.cell(row, 3).number_format = "#,##0.00 €"
    ws.cell(row, 4).number_format = "0%"
ws.column_dimensions["E"].hidden = True
ws.row_dimensions[5].hidden = True
ws.append([])
ws.append(["Opening hours"])
ws.append(["Day", "From", "To"])
ws.append(["Monday", dt.time(9, 0), dt.time(17, 30)])
for cell in ws[ws.max_row][1:3]:
    cell.number_format = "hh:mm"
ws.append([])
ws.append(["Closed on public holidays."])
sheet = wb.create_sheet("Totals")
sheet.append(["Article", "Net", "Gross"])
sheet.append(["Kettle", 10, "=B2*1.19"])
for name, state in (("Internal", "hidden"), ("Archive", "veryHidden")):
    hidden = wb.create_sheet(name)
    hidden.append(["secret", 1])
    hidden.sheet_state = state
wb.save("openpyxl.xlsx")

frame = pd.DataFrame({
    "Name": ["Ann", "Bob"],
    "Since": pd.to_datetime(["2026-01-02", "2026-03-04 10:30"]),
    "Rate": [0.5, None],
    "Active": [True, False],
})
with pd.ExcelWriter("pandas.xlsx") as writer:
    frame.to_excel(writer, sheet_name="Members", index=False)
    frame.groupby("Name").agg({"Rate": ["min", "max"]}).to_excel(writer, sheet_name="Rates")

if "values" in sys.argv:
    wb = openpyxl.Workbook()
    ws = wb.active
    ws.append(["Kind", "Value"])
    for kind, value, code in (
        ("day", dt.date(2026, 3, 1), "dd.mm.yyyy"),
        ("moment", dt.datetime(2026, 3, 1, 14, 30), "m/d/yy h:mm AM/PM"),
        ("length", dt.timedelta(hours=36, minutes=30), "[h]:mm"),
        ("accounting", -1234.5, '_-* #,##0.00 "€"_-;-* #,##0.00 "€"_-;_-* "-"?? "€"_-;_-@_-'),
        ("postcode", 1067, "00000"),
        ("unit", 3.5, '0.00 "kg"'),
        ("text", "00123", None),
        ("EAN", 4006381333931, None),
        ("truth", True, None),
        ("sum", "=0.1+0.2", None),
        ("error", "=1/0", None),
        ("hidden", 7, ";;;"),
    ):
        ws.append([kind, value])
        ws.cell(ws.max_row, 1).font = Font(bold=True)
        if code:
            ws.cell(ws.max_row, 2).number_format = code
    wb.save("values.xlsx")
