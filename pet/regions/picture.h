// Draws a region as a picture of the output.
#ifndef LEMMA_PET_REGIONS_PICTURE_H_
#define LEMMA_PET_REGIONS_PICTURE_H_

#include <string>

#include "pet/regions/region.h"

namespace lemma::pet {

// Draws the last two dimensions as a grid: '#' where the graphs differ, '.' where they agree. Each
// distinct grid is drawn once. If there are other dimensions, a line above each grid gives their
// indices, such as "at [0:3:2, *]:" (* stands for all indices). A grid shows at most 100 rows and
// 100 columns; if there are more, a last line says so.
std::string TextPicture(const Region& region);

// The same grids as an SVG image, but without the line that says that grids are cut.
std::string SvgPicture(const Region& region);

}  // namespace lemma::pet

#endif  // LEMMA_PET_REGIONS_PICTURE_H_
